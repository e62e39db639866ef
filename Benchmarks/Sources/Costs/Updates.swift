import FeedStore
import Workloads

/// Content updates of many feeds in the order of arrival, several for each feed in every window.
struct Updates: Workload {
  private static let feedCount = 100
  private static let itemsPerFeed = 60
  private static let updatesPerWindow = 6_000
  private static let windowCount = 4

  private var store = PublishingStore(options: FeedStoreOptions())
  private var windows: [RecordList] = []
  private var samples = SampleUpdates(feedCount: feedCount, itemsPerFeed: itemsPerFeed, valueBytes: 240)

  let operationCount = updatesPerWindow * windowCount

  mutating func prepare() async {
    var filling: [(feed: String, text: String)] = []
    for feed in 0..<Self.feedCount {
      for item in 0..<Self.itemsPerFeed { filling.append(samples.update(feed: feed, item: item)) }
    }
    await store.publish(filling)
    await store.publish(makeWindow())
    windows = (0..<Self.windowCount).map { _ in makeWindow() }
  }

  mutating func run() async {
    for window in windows { await store.publish(window) }
  }

  func check() async {
    let counters = await store.counters
    Costs.check(
      counters.records == Self.updatesPerWindow * (Self.windowCount + 2)
        && counters.flushes == Self.windowCount + 2,
      "windows ended by themselves"
    )
  }

  private mutating func makeWindow() -> RecordList {
    let records = (0..<Self.updatesPerWindow).map { _ in samples.next() }
    return store.makeList(records)
  }
}
