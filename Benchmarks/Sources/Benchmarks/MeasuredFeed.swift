import Workloads

/// A store with one feed of a given number of items, and the time that changing it takes.
struct MeasuredFeed {
  /// The feed's first items, which no measurement deletes.
  let itemCount: Int
  private var store: PublishingStore

  struct Cost {
    var apply: UInt64
    var flush: UInt64
    var total: UInt64 { apply + flush }
  }

  /// Fills the feed and publishes it. `reloadCount` tells that no keyframe comes later.
  init(itemCount: Int) async {
    self.itemCount = itemCount
    store = await .withLargeFeed(itemCount: itemCount)
  }

  /// Applies the records, each of one event, and publishes what they come to.
  mutating func change(_ records: [String]) async -> Cost {
    let list = store.makeList(records.map { ("feed", $0) })
    let started = now()
    await store.apply(list)
    let applied = now()
    await store.publish()
    let flushed = now()
    return Cost(apply: applied - started, flush: flushed - applied)
  }

  /// Reloads published so far, keyframes included.
  var reloadCount: Int {
    get async { await store.reloadCount }
  }
}
