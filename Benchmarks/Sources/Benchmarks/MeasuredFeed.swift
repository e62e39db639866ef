import Workloads

/// A store with one feed of a given size, and the time taken by its changes.
struct MeasuredFeed {
  /// The feed's first items, which no measurement deletes.
  let itemCount: Int
  private var store: PublishingStore

  struct Cost {
    var apply: UInt64
    var flush: UInt64
    var total: UInt64 { apply + flush }
  }

  /// Fills the feed and publishes it. `reloadCount` shows whether keyframes follow later.
  init(itemCount: Int) async {
    self.itemCount = itemCount
    store = await .withLargeFeed(itemCount: itemCount)
  }

  /// Applies records of one event each, and publishes the result.
  mutating func change(_ records: [String]) async -> Cost {
    let list = store.makeList(records.map { ("feed", $0) })
    let started = now()
    await store.apply(list)
    let applied = now()
    await store.publish()
    let flushed = now()
    return Cost(apply: applied - started, flush: flushed - applied)
  }

  /// The number of published reloads, including keyframes.
  var reloadCount: Int {
    get async { await store.reloadCount }
  }
}
