import Feed
import FeedStore

extension PublishingStore {
  private static let itemsPerRecord = 1_000

  /// A store with one published feed of many items, without keyframes, whose cost depends on the feed's size.
  package static func withLargeFeed(itemCount: Int) async -> PublishingStore {
    var options = FeedStoreOptions()
    options.keyframe.maxDeltas = .max
    options.keyframe.maxBytesRatio = .greatestFiniteMagnitude
    options.limits.maxItems = 2 * itemCount
    var store = PublishingStore(options: options)
    await store.fill(itemCount: itemCount)
    return store
  }

  /// Inserts items into the feed `feed`, and publishes it.
  mutating func fill(itemCount: Int) async {
    for first in stride(from: 0, to: itemCount, by: Self.itemsPerRecord) {
      let numbers = first..<min(first + Self.itemsPerRecord, itemCount)
      await apply([("feed", SampleData.insertions(numbers))])
    }
    await publish()
  }

  /// The number of published reloads, including keyframes.
  package var reloadCount: Int {
    get async { await counters.reloads.values.reduce(0, +) }
  }
}
