import Feed
import FeedStore
import Workloads

/// The cost of restoring feeds from their changesets: decoding, applying, checking, and passing them to a store;
/// without Kafka.
enum RestoreCost {
  private static let itemCount = 1_000_000
  private static let feedCount = 1_000
  private static let deltasPerFeed = 300
  private static let rounds = 5

  private struct Result {
    var read = Samples()
    var takeOver = Samples()
    var total = Samples()
  }

  static func run() async {
    var table = MarkdownTable(
      "changesets",
      "records",
      "size",
      "read and apply",
      "hand over",
      "total",
      "MB/s",
      "items/s",
      "records/s"
    )
    func measure(_ name: String, _ store: PublishingStore) async {
      guard let log = store.log else { preconditionFailure("the changesets were not kept") }
      let expected = await store.summaries()
      var result = Result()
      for _ in 0..<rounds { await restore(log, expected, &result) }
      let items = expected.reduce(0) { $0 + $1.itemCount }
      let seconds = result.total.median / 1e9
      table.add(
        name,
        Format.grouped(log.count),
        Format.megabytes(log.byteCount),
        Format.seconds(result.read.median),
        Format.milliseconds(result.takeOver.median),
        Format.seconds(result.total.median),
        Format.grouped(Int(Double(log.byteCount) / 1e6 / seconds)),
        Format.grouped(Int(Double(items) / seconds)),
        Format.grouped(Int(Double(log.count) / seconds))
      )
    }
    await measure(
      "one feed of \(Format.grouped(itemCount)) items, a reload",
      SampleChangesets.oneFeed(itemCount: itemCount)
    )
    await measure(
      "\(Format.grouped(feedCount)) feeds of \(Format.grouped(itemCount / feedCount)) items, a reload each",
      manyFeeds(deltasPerFeed: 0)
    )
    await measure(
      "the same and \(Format.grouped(deltasPerFeed)) deltas for each feed",
      manyFeeds(deltasPerFeed: deltasPerFeed)
    )
    print("### Restore\n\nMedians of \(rounds) rounds.\n")
    print(table.text)
  }

  private static func manyFeeds(deltasPerFeed: Int) async -> PublishingStore {
    await SampleChangesets.manyFeeds(
      feedCount: feedCount,
      itemsPerFeed: itemCount / feedCount,
      deltasPerFeed: deltasPerFeed
    )
  }

  private static func restore(
    _ log: ChangesetLog,
    _ expected: [FeedSummary],
    _ result: inout Result
  ) async {
    let store = FeedStore(options: FeedStoreOptions())
    let started = now()
    let replicas = log.replicas()
    let read = now()
    do throws(ReplicaFault) {
      try await store.restore(partition: 0, from: replicas)
    } catch {
      preconditionFailure("the changesets were not complete: \(error)")
    }
    let restored = now()
    result.read.add(read - started)
    result.takeOver.add(restored - read)
    result.total.add(restored - started)
    let summaries = await store.summaries()
    precondition(summaries == expected, "what was restored is not what was published")
  }
}
