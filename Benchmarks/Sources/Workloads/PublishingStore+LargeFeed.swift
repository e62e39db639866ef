import Feed
import FeedStore

extension PublishingStore {
  private static let itemsPerRecord = 1_000

  /// A store with one published feed of many items, without keyframes, whose cost depends on the feed's size.
  package static func withLargeFeed(itemCount: Int, maxItems: Int? = nil) async -> PublishingStore {
    var options = FeedStoreOptions()
    options.keyframe.maxDeltas = .max
    options.keyframe.maxBytesRatio = .greatestFiniteMagnitude
    options.limits.maxItems = maxItems ?? 2 * itemCount
    var store = PublishingStore(options: options)
    await store.fill(itemCount: itemCount)
    return store
  }

  /// The same with an ordered section: items have the data of `SampleData`, and a score by which they are sorted.
  package static func withOrderedFeed(itemCount: Int, score: () -> Int) async -> PublishingStore {
    var store = await withLargeFeed(itemCount: 0, maxItems: 2 * itemCount)
    let order = #"[{"by":"/score","direction":"descending"}]"#
    await store.apply([
      ("feed", #"{"op":"section.upsert","section":"\#(SampleData.section)","order":\#(order)}"#)
    ])
    for first in stride(from: 0, to: itemCount, by: itemsPerRecord) {
      let events = (first..<min(first + itemsPerRecord, itemCount)).map { number in
        let section = #""section":"\#(SampleData.section)""#
        return
          #"{"op":"item.upsert","item":"\#(SampleData.id(number))",\#(section),"data":{"score":\#(score())}}"#
      }
      await store.apply([("feed", "[" + events.joined(separator: ",") + "]")])
    }
    await store.publish()
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
