import FeedClient

/// The order in which entries of feeds were added, so that the oldest can be evicted first. Entries that were removed
/// out of turn stay in the order and are skipped. They are purged when they make up more than half of it.
struct EvictionOrder {
  private var numbers = Queue<(feed: FeedAddress, number: Int)>()
  private var nextNumber = 0

  /// Below this count, purging is not worthwhile.
  private static let leastCount = 64

  /// The number of entries, including removed ones.
  var count: Int { numbers.count }

  /// Adds an entry of a feed and returns its number.
  mutating func append(_ feed: FeedAddress) -> Int {
    defer { nextNumber += 1 }
    numbers.append((feed, nextNumber))
    return nextNumber
  }

  /// Removes and returns the oldest entry, which may have been removed already.
  mutating func removeFirst() -> (feed: FeedAddress, number: Int)? { numbers.removeFirst() }

  /// Purges removed entries if they make up more than half.
  ///
  /// - Parameters:
  ///   - count: the number of entries that still exist.
  ///   - isKept: whether the entry with a number still exists.
  mutating func forgetGone(keeping count: Int, _ isKept: (FeedAddress, Int) -> Bool) {
    guard numbers.count > max(Self.leastCount, 2 * count) else { return }
    _ = numbers.removeAll { !isKept($0.feed, $0.number) }
  }
}
