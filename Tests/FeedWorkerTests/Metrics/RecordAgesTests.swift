import Testing

@testable import FeedWorker

@Suite struct RecordAgesTests {
  private static func told(_ ages: [Int64]) -> [(age: Double, count: Int)] {
    var counts = RecordAges()
    for age in ages { counts.add(age) }
    var told: [(Double, Int)] = []
    counts.take { told.append(($0, $1)) }
    return told
  }

  @Test func `ages below 64 ms are exact, of either sign`() {
    let told = Self.told([0, 63, 63, -1, -63])
    let byAge = Dictionary(uniqueKeysWithValues: told.map { ($0.age, $0.count) })
    #expect(byAge == [0: 1, 63: 2, -1: 1, -63: 1])
  }

  @Test func `no age is told with an error of more than 2 percent`() {
    for exponent in 6...39 {
      for offset in [0, 1, Int64(1) << (exponent - 1), (Int64(1) << exponent) - 1] {
        let age = Int64(1) << exponent + offset
        for signed in [age, -age] {
          let told = Self.told([signed])
          #expect(told.count == 1 && told[0].count == 1)
          #expect(abs(told[0].age - Double(signed)) <= 0.02 * Double(age), "\(signed)")
        }
      }
    }
  }

  @Test func `what is beyond 139 years counts as that old`() {
    for age in [Int64.max, .min] {
      let told = Self.told([age])
      #expect(told.count == 1 && abs(told[0].age) > 1e12)
    }
  }

  @Test func `what was told is forgotten`() {
    var ages = RecordAges()
    ages.add(5)
    ages.take { _, _ in }
    ages.add(-7)
    ages.removeAll()
    ages.take { _, _ in Issue.record("something is left") }
  }
}
