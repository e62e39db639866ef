import Workloads

/// Items that come to a large feed, at places picked at random.
struct Inserts: Workload {
  private static let insertsPerRound = 100
  private static let roundCount = 20

  private var feed = LargeFeed()

  let operationCount = insertsPerRound * roundCount

  mutating func prepare() async {
    var random = RandomNumbers(seed: 6)
    await feed.prepare(
      (0...Self.roundCount).map { round in
        (0..<Self.insertsPerRound).map { number in
          SampleData.insertion(
            of: SampleData.id(LargeFeed.itemCount + round * Self.insertsPerRound + number),
            number: random.next(),
            at: random.below(LargeFeed.itemCount)
          )
        }
      }
    )
  }

  mutating func run() async { await feed.run() }
  func check() async { await feed.check() }
}
