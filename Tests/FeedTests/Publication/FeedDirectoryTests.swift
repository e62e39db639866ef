import Oracle
import Testing

@testable import Feed

@Suite struct FeedDirectoryTests {
  @Test(arguments: RandomCases.seeds(1...5))
  func `has the feeds that were made and not removed`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let directory = FeedDirectory()
    var expected: [Int: PublishedFeed] = [:]
    func feed(_ number: Int) -> PublishedFeed? {
      withSpan("feed \(number)") { directory.feed($0) }
    }
    for step in 0..<5_000 {
      let number = random.below(300)
      let isFilling = step / 1_000 % 2 == 0
      if let known = expected[number] {
        if random.chance(isFilling ? 10 : 90) {
          directory.remove(known)
          expected[number] = nil
        }
      } else if random.chance(isFilling ? 90 : 5) {
        expected[number] = withSpan("feed \(number)") { directory.makeFeed($0) }
      }
      #expect(feed(number) === expected[number], "seed \(seed), step \(step)")
      #expect(directory.count == expected.count, "seed \(seed), step \(step)")
    }
    for number in 0..<300 { #expect(feed(number) === expected[number], "seed \(seed)") }
    #expect(
      Set(directory.feeds.map(\.id.text)) == Set(expected.values.map(\.id.text)),
      "seed \(seed)"
    )
    #expect(Array(directory.feeds).count == expected.count, "seed \(seed)")
    for known in expected.values { directory.remove(known) }
    #expect(directory.count == 0)
    #expect(Array(directory.feeds).isEmpty)
  }
}
