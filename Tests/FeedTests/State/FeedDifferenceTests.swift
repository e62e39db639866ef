import Oracle
import Testing

@testable import Feed

@Suite struct FeedDifferenceTests {
  @Test(arguments: RandomCases.seeds(1...4), [2, 63, 64, 1000])
  func `entries are sorted by section and index, however many there are`(seed: UInt64, count: Int) {
    var random = SplitMix64(seed: seed)
    for bits in [3, 10, 11, 21, 32, 52] {
      var entries = FeedDifference.Entries()
      entries[.move] = (0..<count).map { number in
        var entry = FeedDifference.Entry(handle: ElementHandle(UInt32(number)))
        entry.sortKey = random.next() & (1 << UInt64(bits) - 1)
        return entry
      }
      let expected = entries[.move].enumerated()
        .sorted { ($0.element.sortKey, $0.offset) < ($1.element.sortKey, $1.offset) }
        .map(\.element.handle)
      entries.sort()
      #expect(entries[.move].map(\.handle) == expected, "seed \(seed), \(bits) bits")
    }
  }
}
