/// How far a flush has come, in one transaction or several.
///
/// Until the last transaction the input's offsets stay where they are. If that one never comes, the records are
/// read again, and passed over where their feed's `through` says so.
struct FlushInProgress {
  /// Feeds, the first ones, after which a transaction may end before the flush does.
  private let independentFeeds: Int
  var nextFeed = 0
  /// Whether the next feed is written in part.
  var isWriting = false
  /// Feeds whose changesets are published: those of earlier transactions.
  private(set) var confirmedFeeds = 0
  /// What the transaction holds so far.
  var transactionBytes = 0
  /// Whether nothing may be added to the transaction.
  var isAtEndOfTransaction = false

  init(independentFeeds: Int) {
    self.independentFeeds = independentFeeds
  }

  /// Whether the transaction may end here, before the flush does.
  ///
  /// - Parameter bytes: what is about to be added to the transaction.
  func mayEndTransaction(adding bytes: Int, maxBytes: Int) -> Bool {
    !isWriting && nextFeed <= independentFeeds && transactionBytes + bytes >= maxBytes
  }

  /// The transaction was committed; another one follows.
  mutating func beginTransaction() {
    confirmedFeeds = nextFeed
    transactionBytes = 0
    isAtEndOfTransaction = false
  }
}
