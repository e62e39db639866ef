import Oracle
import Testing

@testable import Feed

@Suite struct LongestIncreasingSubsequenceTests {
  /// The length by trying every smaller predecessor of each element.
  private func length(_ values: [Int32]) -> Int {
    var best: [Int] = []
    for (position, value) in values.enumerated() {
      best.append(
        1 + (best.indices.filter { values[$0] < value && $0 < position }.map { best[$0] }.max() ?? 0)
      )
    }
    return best.max() ?? 0
  }

  private func check(_ values: [Int32]) {
    let isMember = LongestIncreasingSubsequence.membership(values)
    let members = zip(values, isMember).filter(\.1).map(\.0)
    #expect(members == members.sorted(), "\(values)")
    #expect(members.count == length(values), "\(values)")
  }

  @Test func `is increasing and longest for all permutations up to seven elements`() {
    for count in 0...7 {
      for permutation in Permutations.of(count) { check(permutation.map(Int32.init)) }
    }
  }

  @Test(arguments: RandomCases.seeds(1...3))
  func `is increasing and longest for random sequences`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<50 {
      var values = Array(0..<Int32(random.below(200)))
      for _ in 0..<random.below(40) where values.count > 1 {
        values.insert(values.remove(at: random.below(values.count)), at: random.below(values.count))
      }
      check(values)
    }
  }
}
