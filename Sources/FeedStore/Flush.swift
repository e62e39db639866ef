/// A flush in progress: the publication of everything that waits, in one transaction or several.
///
/// Created by ``FeedStore/beginFlush()``. Ask for one part after another with
/// ``FeedStore/prepareNextPart(of:)``, and publish each while ``FeedStore/withPart(of:_:)`` lends it.
/// Whenever ``isAtEndOfTransaction`` is true, publish the parts since the last confirmation as one
/// transaction.
///
/// The value must be passed to ``FeedStore/confirm(_:)``, which returns it as long as there is more to publish, or to
/// ``FeedStore/rollBack(_:)``. Dropping it ends the process, because the store could never apply a record again.
///
/// Only the last transaction commits the input offsets. If it fails, the records are read again, and skipped where
/// their feed's `through` already includes them.
public struct Flush: ~Copyable, Sendable {
  /// The store that began the flush.
  private let store: ObjectIdentifier
  /// The number of feeds, from the first, that may be published before the last transaction.
  private let independentFeeds: Int
  var nextFeed = 0
  /// Whether the next feed has been written in part.
  var isWriting = false
  /// The number of feeds that earlier transactions have published.
  private(set) var confirmedFeeds = 0
  private(set) var transactionBytes = 0
  /// Whether there is a part to lend.
  private(set) var hasPart = false
  /// Whether the current part is the last one of the flush.
  public private(set) var isAtEnd = false
  /// Whether the current part is the last one of a transaction; true for the last one of the flush.
  public private(set) var isAtEndOfTransaction = false

  init(of store: FeedStore, independentFeeds: Int) {
    self.store = ObjectIdentifier(store)
    self.independentFeeds = independentFeeds
  }

  deinit { Self.reportDrop() }

  private static func reportDrop() {
    fatalError("a flush was dropped; confirm it or roll it back")
  }

  consuming func end() { discard self }

  func check(isOf store: FeedStore) {
    precondition(self.store == ObjectIdentifier(store), "the flush was begun by another store")
  }

  /// Whether the transaction may end here, before the end of the flush.
  ///
  /// - Parameter bytes: the size of the next addition.
  func mayEndTransaction(adding bytes: Int, maxBytes: Int) -> Bool {
    !isWriting && nextFeed <= independentFeeds && transactionBytes + bytes >= maxBytes
  }

  /// Makes a new part the current one.
  ///
  /// - Parameters:
  ///   - bytes: its size.
  ///   - feedCount: the number of feeds in the flush.
  mutating func addPart(bytes: Int, feedCount: Int, maxBytes: Int) {
    isAtEnd = nextFeed == feedCount
    isAtEndOfTransaction = isAtEnd || mayEndTransaction(adding: bytes, maxBytes: maxBytes)
    transactionBytes += bytes
    hasPart = true
  }

  /// Starts the next transaction, after the current one was committed.
  mutating func beginTransaction() {
    confirmedFeeds = nextFeed
    transactionBytes = 0
    isAtEndOfTransaction = false
    hasPart = false
  }
}

extension FeedStore {
  /// Publishes all waiting changes, in as many transactions as needed.
  ///
  /// - Parameter body: receives one part after another. When it returns from a part that ends a transaction, the parts
  ///   up to it count as published. If it throws, the rest is rolled back.
  public func publish<Failure: Error>(
    _ body: (borrowing Publication) throws(Failure) -> Void
  ) throws(Failure) {
    var flush = beginFlush()
    while true {
      prepareNextPart(of: &flush)
      do throws(Failure) {
        try withPart(of: flush, body)
      } catch {
        rollBack(flush)
        throw error
      }
      guard flush.isAtEndOfTransaction else { continue }
      guard let rest = confirm(flush) else { return }
      flush = rest
    }
  }
}
