import FeedTestSupport
import Testing

@testable import Feed

@Suite struct HashIndexTests {
  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `finds what was inserted and not removed, however hashes collide`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var index = HashIndex()
    var expected: [UInt32: UInt32] = [:]
    for handle in 0..<4000 as Range<UInt32> {
      // Few hashes, some of them next to each other and at the table's end.
      let hash = random.chance(50) ? UInt32(random.below(7)) : UInt32.max - UInt32(random.below(40))
      index.insert(hash, handle)
      expected[handle] = hash
      if random.chance(55), let victim = expected.keys.min(by: { $0 &* 2_654_435_761 < $1 &* 2_654_435_761 }),
        let hash = expected.removeValue(forKey: victim)
      {
        index.remove(hash, victim)
      }
    }
    #expect(index.count == expected.count)
    for handle in 0..<4000 as Range<UInt32> {
      for hash in [expected[handle] ?? 3] {
        let found = index.find(hash) { $0 == handle }
        #expect(found == (expected[handle] == nil ? nil : handle), "seed \(seed), handle \(handle)")
      }
    }
    index.removeAll()
    #expect(index.find(3) { _ in true } == nil)
  }
}
