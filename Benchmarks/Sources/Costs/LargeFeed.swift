import FeedStore
import Workloads

/// A feed with many items, to which rounds of changes are made, each published as one difference.
struct LargeFeed: Workload {
  private static let itemCount = 10_000
  private static let changesPerRound = 100
  private static let roundCount = 20

  /// The record's value for each change, by its number from 0.
  private let change: (Int) -> String
  private var store = PublishingStore(options: FeedStoreOptions())
  private var rounds: [RecordList] = []

  let operationCount = changesPerRound * roundCount

  private init(_ change: @escaping (Int) -> String) { self.change = change }

  /// Items move to random positions.
  static func moves() -> LargeFeed {
    var random = RandomNumbers(seed: 5)
    return LargeFeed { _ in
      let item = SampleData.id(random.below(itemCount))
      return #"{"op":"item.move","item":"\#(item)","at":{"index":\#(random.below(itemCount))}}"#
    }
  }

  /// Items are inserted at random positions.
  static func inserts() -> LargeFeed {
    var random = RandomNumbers(seed: 6)
    return LargeFeed { number in
      SampleData.insertion(
        of: SampleData.id(itemCount + number),
        number: random.next(),
        at: random.below(itemCount)
      )
    }
  }

  /// Fills the feed, makes a first round of changes, and prepares the others.
  mutating func prepare() async {
    store = await .withLargeFeed(itemCount: Self.itemCount)
    rounds = (0...Self.roundCount).map { round in
      let numbers = round * Self.changesPerRound..<(round + 1) * Self.changesPerRound
      return store.makeList(numbers.map { ("feed", change($0)) })
    }
    await store.publish(rounds.removeFirst())
  }

  mutating func run() async {
    for round in rounds { await store.publish(round) }
  }

  func check() async {
    let reloads = await store.reloadCount
    Costs.check(reloads == 1, "\(reloads - 1) rounds were published as reloads")
  }
}
