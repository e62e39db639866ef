import Feed
import FeedStore

/// What it costs to get feeds back from their changesets: decoding, applying, checking, and handing them to
/// a store; without Kafka.
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
      "take over",
      "both",
      "MB/s",
      "items/s",
      "records/s"
    )
    func measure(_ name: String, _ store: PublishingStore) async {
      let log = store.log
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
    await measure("one feed of \(Format.grouped(itemCount)) items, a reload", oneFeed())
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

  // MARK: Changesets

  private static func oneFeed() async -> PublishingStore {
    var store = PublishingStore(options: FeedStoreOptions())
    for first in stride(from: 0, to: itemCount, by: 1_000) {
      await store.apply([("feed", filling(first..<min(first + 1_000, itemCount)))])
    }
    await store.publish()
    return store
  }

  private static func manyFeeds(deltasPerFeed: Int) async -> PublishingStore {
    var store = PublishingStore(options: FeedStoreOptions())
    let itemsPerFeed = itemCount / feedCount
    let feeds = (0..<feedCount).map { "feed-\($0)" }
    await store.publish(feeds.map { ($0, filling(0..<itemsPerFeed)) })
    var random = RandomNumbers(seed: 3)
    for round in 0..<deltasPerFeed {
      await store.publish(feeds.map { ($0, change(number: round, itemsPerFeed, &random)) })
    }
    return store
  }

  private static func filling(_ numbers: Range<Int>) -> String {
    let events = numbers.map { MeasuredFeed.insertion(of: SampleData.id($0), number: UInt64($0)) }
    return "[" + events.joined(separator: ",") + "]"
  }

  /// Mostly new data; every fourth is a move, an item that comes, or one that came and goes.
  private static func change(number: Int, _ itemCount: Int, _ random: inout RandomNumbers) -> String {
    let item = SampleData.id(random.below(itemCount))
    switch number % 12 {
    case 3: return #"{"op":"item.move","item":"\#(item)","at":{"index":\#(random.below(itemCount))}}"#
    case 7:
      return MeasuredFeed.insertion(
        of: SampleData.id(itemCount + number),
        number: random.next(),
        at: random.below(itemCount)
      )
    case 11: return #"{"op":"item.delete","item":"\#(SampleData.id(itemCount + number - 4))"}"#
    default:
      return #"{"op":"item.upsert","item":"\#(item)","data":\#(SampleData.object(random.next()))}"#
    }
  }

  // MARK: Restoring

  private static func restore(
    _ log: ChangesetLog,
    _ expected: [FeedSummary],
    _ result: inout Result
  ) async {
    let store = FeedStore(options: FeedStoreOptions())
    let started = now()
    let replicas = read(log)
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

  private static func read(_ log: ChangesetLog) -> sending ReplicaPartition {
    // Nobody else has it.
    nonisolated(unsafe) let replicas = ReplicaPartition(describesChanges: false)
    log.visit { key, value in
      do throws(ReplicaFault) {
        switch try replicas.apply(key: key, value: value) {
        case .applied, .removed, .skipped, .waitingForParts: break
        case let outcome: preconditionFailure("a changeset did not fit: \(outcome)")
        }
      } catch {
        preconditionFailure("a changeset could not be read: \(error)")
      }
    }
    return replicas
  }
}
