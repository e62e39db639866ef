/// The progress of a flush, in one transaction or several.
///
/// Only the last transaction commits the input offsets. If it fails, the records are read again, and skipped where
/// their feed's `through` already includes them.
struct FlushInProgress {
  /// The number of feeds, from the first, that may be published before the last transaction.
  private let independentFeeds: Int
  var nextFeed = 0
  /// Whether the next feed has been written in part.
  var isWriting = false
  /// The number of feeds that earlier transactions have published.
  private(set) var confirmedFeeds = 0
  /// The size of the current transaction, in bytes.
  var transactionBytes = 0
  /// Whether the current transaction is complete.
  var isAtEndOfTransaction = false

  init(independentFeeds: Int) {
    self.independentFeeds = independentFeeds
  }

  /// Whether the transaction may end here, before the end of the flush.
  ///
  /// - Parameter bytes: the size of what would be added next.
  func mayEndTransaction(adding bytes: Int, maxBytes: Int) -> Bool {
    !isWriting && nextFeed <= independentFeeds && transactionBytes + bytes >= maxBytes
  }

  /// Starts the next transaction, after the current one was committed.
  mutating func beginTransaction() {
    confirmedFeeds = nextFeed
    transactionBytes = 0
    isAtEndOfTransaction = false
  }
}
