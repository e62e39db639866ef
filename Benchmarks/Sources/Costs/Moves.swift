import Workloads

/// Items of a large feed that move to places picked at random.
struct Moves: Workload {
  private static let movesPerRound = 100
  private static let roundCount = 20

  private var feed = LargeFeed()

  let operationCount = movesPerRound * roundCount

  mutating func prepare() async {
    var random = RandomNumbers(seed: 5)
    await feed.prepare(
      (0...Self.roundCount).map { _ in
        (0..<Self.movesPerRound).map { _ in
          let item = SampleData.id(random.below(LargeFeed.itemCount))
          return #"{"op":"item.move","item":"\#(item)","at":{"index":\#(random.below(LargeFeed.itemCount))}}"#
        }
      }
    )
  }

  mutating func run() async { await feed.run() }
  func check() async { await feed.check() }
}
