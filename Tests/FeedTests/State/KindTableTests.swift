import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct KindTableTests {
  private func use(_ text: String, _ table: inout KindTable) -> UInt32 {
    withSpan(text) { table.use($0) }
  }

  @Test func `a kind has one number as long as it is used`() {
    var table = KindTable()
    let story = use("story", &table)
    let advert = use("advert", &table)
    #expect(use("story", &table) == story)
    #expect(story != advert && story != KindTable.empty)
    table.release(story)
    #expect(table[story].text == "story")
    table.release(story)
    #expect(table.count == 1)
    #expect(table[advert].text == "advert")
  }

  @Test func `the empty kind is not counted`() {
    var table = KindTable()
    #expect(use("", &table) == KindTable.empty)
    table.use(KindTable.empty)
    table.release(KindTable.empty)
    #expect(table[KindTable.empty].isEmpty)
    #expect(table.count == 0)
  }

  @Test(arguments: RandomCases.seeds(1...5))
  func `keeps what is used, and takes numbers again`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var table = KindTable()
    var uses: [String: (number: UInt32, count: Int)] = [:]
    var mostKinds = 0
    for step in 0..<20_000 {
      let number = random.below(300)
      // Some have the maximum length of kinds.
      let kind = String(repeating: "x", count: number % 10 == 0 ? 252 : 2) + String(100 + number)
      // It fills and empties alternately.
      if random.chance(step / 2_000 % 2 == 0 ? 80 : 20) {
        let found = use(kind, &table)
        if let known = uses[kind] { #expect(known.number == found, "seed \(seed), step \(step)") }
        uses[kind] = (found, (uses[kind]?.count ?? 0) + 1)
      } else if let known = uses[kind] {
        table.release(known.number)
        uses[kind] = known.count == 1 ? nil : (known.number, known.count - 1)
      }
      mostKinds = max(mostKinds, uses.count)
      if step % 500 == 0 {
        #expect(table.count == uses.count, "seed \(seed), step \(step)")
        for (kind, known) in uses {
          #expect(table[known.number].text == kind, "seed \(seed), step \(step)")
          #expect(table.useCounts[known.number] == UInt32(known.count), "seed \(seed), step \(step)")
        }
      }
    }
    #expect(mostKinds > 64)
    // Numbers of removed kinds are reused.
    #expect(uses.values.allSatisfy { Int($0.number) <= mostKinds }, "seed \(seed)")
  }
}
