import Feed
import FeedStore
import Workloads

/// Feeds that are restored from their changesets: reloads, and deltas of one change each.
struct Restore: Workload {
  private static let feedCount = 100
  private static let itemsPerFeed = 100
  private static let deltasPerFeed = 36

  private var log = ChangesetLog()
  private var expected: [FeedSummary] = []
  private let store = FeedStore(options: FeedStoreOptions())

  var operationCount: Int { log.count }

  mutating func prepare() async {
    let published = await SampleChangesets.manyFeeds(
      feedCount: Self.feedCount,
      itemsPerFeed: Self.itemsPerFeed,
      deltasPerFeed: Self.deltasPerFeed
    )
    guard let log = published.log else { fail("the changesets were not kept") }
    self.log = log
    expected = await published.summaries()
  }

  mutating func run() async {
    do throws(ReplicaFault) {
      try await store.restore(partition: 0, from: log.replicas())
    } catch {
      fail("the changesets were not complete: \(error)")
    }
  }

  func check() async {
    let summaries = await store.summaries()
    Costs.check(summaries == expected, "what was restored is not what was published")
  }
}
