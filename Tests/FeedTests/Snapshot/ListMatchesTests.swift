import Oracle
import Testing

@testable import Feed

@Suite struct ListMatchesTests {
  private func moved(_ order: [Int32]) -> [Int32] {
    var matches = ListMatches()
    for (index, from) in order.enumerated() { matches.append(index, from: from) }
    var moved: [Int32] = []
    matches.forEachMove { moved.append($0.from) }
    return moved
  }

  private func movedByElements(_ order: [Int32]) -> [Int32] {
    let isKept = LongestIncreasingSubsequence.membership(order)
    return zip(order, isKept).filter { !$0.1 }.map(\.0)
  }

  @Test(arguments: 0...7)
  func `every order of up to seven elements moves the elements of the plain subsequence`(count: Int) {
    for order in Permutations.of(count) {
      let order = order.map(Int32.init)
      #expect(moved(order) == movedByElements(order), "\(order)")
    }
  }

  @Test(arguments: RandomCases.seeds(1...4), [40, 3000])
  func `blocks that were moved at random move as the plain subsequence says`(seed: UInt64, blocks: Int) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<(blocks < 100 ? 200 : 5) {
      var order: [Int32] = []
      for _ in 0..<blocks {
        let next = Int32(order.count)
        let block = next..<next + Int32(1 + random.below(6))
        order.insert(
          contentsOf: block,
          at: random.below(3) == 0 ? random.below(order.count + 1) : order.count
        )
      }
      #expect(moved(order) == movedByElements(order), "seed \(seed)")
    }
  }

  @Test func `elements from other lists move whatever else stays`() {
    var matches = ListMatches()
    matches.append(0, from: 0)
    matches.append(1, from: 1, crossing: ElementHandle(7))
    matches.append(2, from: 1)
    var moved: [(Int, ElementHandle?)] = []
    matches.forEachMove { moved.append(($0.index, $0.crossing)) }
    #expect(moved.count == 1 && moved[0] == (1, ElementHandle(7)))
  }
}
