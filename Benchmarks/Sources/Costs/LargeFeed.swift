import Feed
import FeedStore
import Workloads

/// A feed with many items to which rounds of changes are made, each published as one difference.
struct LargeFeed {
  static let itemCount = 10_000
  private static let itemsPerRecord = 1_000

  private var store: PublishingStore
  private var rounds: [RecordList] = []

  init() {
    var options = FeedStoreOptions()
    // A keyframe would cost what the feed is large.
    options.keyframe.maxDeltas = .max
    options.keyframe.maxBytesRatio = .greatestFiniteMagnitude
    store = PublishingStore(options: options)
  }

  /// Fills the feed, makes the first round of changes, and prepares the others.
  mutating func prepare(_ rounds: [[String]]) async {
    for first in stride(from: 0, to: Self.itemCount, by: Self.itemsPerRecord) {
      await store.apply([("feed", SampleData.insertions(first..<first + Self.itemsPerRecord))])
    }
    await store.publish()
    self.rounds = rounds.map { round in store.makeList(round.map { ("feed", $0) }) }
    await store.publish(self.rounds.removeFirst())
  }

  func run() async {
    for round in rounds { await store.publish(round) }
  }

  func check() async {
    let reloads = await store.counters.reloads
    Costs.check(reloads.values.reduce(0, +) == 1, "not every round was published as a difference: \(reloads)")
  }
}
