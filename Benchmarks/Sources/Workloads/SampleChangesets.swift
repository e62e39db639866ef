import FeedStore

/// Stores whose changesets are kept, to restore other stores from.
package enum SampleChangesets {
  /// One feed, published as a reload.
  package static func oneFeed(itemCount: Int) async -> PublishingStore {
    var store = PublishingStore(options: FeedStoreOptions(), log: ChangesetLog())
    await store.fill(itemCount: itemCount)
    return store
  }

  /// Feeds that are published as reloads, and then as deltas of one change each.
  package static func manyFeeds(
    feedCount: Int,
    itemsPerFeed: Int,
    deltasPerFeed: Int
  ) async -> PublishingStore {
    var store = PublishingStore(options: FeedStoreOptions(), log: ChangesetLog())
    let feeds = (0..<feedCount).map { "feed-\($0)" }
    await store.publish(feeds.map { ($0, SampleData.insertions(0..<itemsPerFeed)) })
    var random = RandomNumbers(seed: 3)
    for round in 0..<deltasPerFeed {
      await store.publish(feeds.map { ($0, change(number: round, itemsPerFeed, &random)) })
    }
    return store
  }

  /// Mostly new data; every fourth change is a move, an insertion, or a deletion of an inserted item.
  private static func change(number: Int, _ itemCount: Int, _ random: inout RandomNumbers) -> String {
    let item = SampleData.id(random.below(itemCount))
    switch number % 12 {
    case 3: return #"{"op":"item.move","item":"\#(item)","at":{"index":\#(random.below(itemCount))}}"#
    case 7:
      return SampleData.insertion(
        of: SampleData.id(itemCount + number),
        number: random.next(),
        at: random.below(itemCount)
      )
    case 11: return #"{"op":"item.delete","item":"\#(SampleData.id(itemCount + number - 4))"}"#
    default:
      return #"{"op":"item.upsert","item":"\#(item)","data":\#(SampleData.object(random.next()))}"#
    }
  }
}
