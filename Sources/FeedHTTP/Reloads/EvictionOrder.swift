import Feed
import FeedClient

/// The order in which things of feeds were kept, so that the oldest can go first. What went before its turn is
/// passed over, and forgotten when it is more than half.
struct EvictionOrder {
  private var numbers = Queue<(feed: ByteText, number: Int)>()
  private var nextNumber = 0

  /// Below this many nothing is gained by forgetting.
  private static let leastCount = 64

  /// How many there are, those that are gone included.
  var count: Int { numbers.count }

  /// Gives the next thing of a feed its number.
  mutating func append(_ feed: ByteText) -> Int {
    defer { nextNumber += 1 }
    numbers.append((feed, nextNumber))
    return nextNumber
  }

  /// The oldest, which may be gone already.
  mutating func removeFirst() -> (feed: ByteText, number: Int)? { numbers.removeFirst() }

  /// Forgets what is gone, if that is more than half.
  ///
  /// - Parameters:
  ///   - count: how many things there are.
  ///   - isKept: whether the one with a number is among them.
  mutating func forgetGone(keeping count: Int, _ isKept: (ByteText, Int) -> Bool) {
    guard numbers.count > max(Self.leastCount, 2 * count) else { return }
    _ = numbers.removeAll { !isKept($0.feed, $0.number) }
  }
}
