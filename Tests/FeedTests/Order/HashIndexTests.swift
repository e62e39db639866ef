import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct HashIndexTests {
  /// Numbers as texts of three bytes, all with the same hash under a key of zeros.
  private final class Texts {
    private let bytes: UnsafeMutablePointer<UInt8>
    /// The number of texts that were lent, for a comparison or a new hash.
    private(set) var lentCount = 0

    init(_ count: Int) {
      bytes = .allocate(capacity: count * 3)
      for number in 0..<count {
        for place in 0..<3 { bytes[number * 3 + place] = UInt8(truncatingIfNeeded: number >> (8 * place)) }
      }
    }

    deinit { bytes.deallocate() }

    subscript(number: UInt32) -> ByteSpan { ByteSpan(UnsafePointer(bytes) + Int(number) * 3, 3) }

    func lend(_ number: UInt32) -> ByteSpan {
      lentCount += 1
      return self[number]
    }
  }

  @Test(arguments: RandomCases.seeds(1...3))
  func `finds what was inserted and not removed, however hashes collide`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let texts = Texts(6_000)
    var index = HashIndex()
    var expected: Set<UInt32> = []
    // Few hashes, some at the end of the table; and many next to each other, in runs longer than the farthest distance.
    let hashes = (0..<6_000).map { _ in
      random.chance(10)
        ? UInt32(random.below(7))
        : random.chance(20) ? UInt32.max - UInt32(random.below(40)) : UInt32(random.below(4_000))
    }
    for step in 0..<20_000 {
      let handle = UInt32(random.below(6_000))
      if expected.remove(handle) != nil {
        index.remove(texts[handle], hashes[Int(handle)], handle)
      } else if random.chance(step / 5_000 % 2 == 0 ? 90 : 20) {
        index.insert(texts[handle], hashes[Int(handle)], handle, textOf: texts.lend)
        expected.insert(handle)
      }
    }
    let (count, distances) = (index.count, index.distances)
    #expect(count == expected.count)
    #expect(distances.count == expected.count)
    for handle in 0..<6_000 as Range<UInt32> {
      let found = index.find(texts[handle], hashes[Int(handle)], textOf: texts.lend)
      #expect(found == (expected.contains(handle) ? handle : nil), "seed \(seed), handle \(handle)")
    }
    index.removeAll()
    let (emptyCount, found) = (index.count, index.find(texts[3], 3, textOf: texts.lend))
    #expect(emptyCount == 0)
    #expect(found == nil)
  }

  /// The costs caused by the elements' places are those of random hashes.
  private func expectFewProbes(_ index: borrowing HashIndex, _ texts: Texts, count: Int) {
    let distances = index.distances
    #expect(distances.count == count)
    #expect(distances.reduce(0, +) < 3 * count)
    #expect((distances.max() ?? 0) <= HashIndex.maxDistance)
  }

  @Test func `texts of one hash cost what others cost`() {
    let count: UInt32 = 20_000
    let texts = Texts(Int(count) * 2)
    var index = HashIndex()
    for handle in 0..<count {
      let known = index.find(texts[handle], 7, textOf: texts.lend)
      #expect(known == nil)
      index.insert(texts[handle], 7, handle, textOf: texts.lend)
    }
    let hasOwnKey = index.hasOwnKey
    #expect(hasOwnKey)
    expectFewProbes(index, texts, count: Int(count))
    // Up to the limit, each was compared with its predecessors; then they were hashed once.
    let bound = HashIndex.maxDistance * HashIndex.maxDistance + Int(count) * 2
    #expect(texts.lentCount < bound)
    let lentBefore = texts.lentCount
    for handle in 0..<count {
      let found = index.find(texts[handle], 7, textOf: texts.lend)
      #expect(found == handle)
    }
    for handle in count..<count * 2 {
      let found = index.find(texts[handle], 7, textOf: texts.lend)
      #expect(found == nil)
    }
    #expect(texts.lentCount - lentBefore < Int(count) * 2)
    for handle in 0..<count { index.remove(texts[handle], 7, handle) }
    let emptyCount = index.count
    #expect(emptyCount == 0)
    index.removeAll()
    let stillHasOwnKey = index.hasOwnKey
    #expect(!stillHasOwnKey)
  }

  @Test func `a table whose own key is known takes another`() {
    let count: UInt32 = 5_000
    let texts = Texts(Int(count))
    var index = HashIndex(key: HashKey(words: []))
    for handle in 0..<256 as Range<UInt32> { index.insert(texts[handle], 0, handle, textOf: texts.lend) }
    // Under a key of zeros, all are in one run.
    let farthest = index.distances.max()
    #expect(farthest == 255)
    for handle in 256..<count { index.insert(texts[handle], 0, handle, textOf: texts.lend) }
    expectFewProbes(index, texts, count: Int(count))
    for handle in 0..<count {
      let found = index.find(texts[handle], 0, textOf: texts.lend)
      #expect(found == handle)
    }
  }

  /// Hashes that differ only in bits that a small table does not use.
  @Test func `texts of one place cost what others cost`() {
    let count: UInt32 = 20_000
    let texts = Texts(Int(count))
    var index = HashIndex()
    for handle in 0..<count { index.insert(texts[handle], handle << 16, handle, textOf: texts.lend) }
    expectFewProbes(index, texts, count: Int(count))
    for handle in 0..<count {
      let found = index.find(texts[handle], handle << 16, textOf: texts.lend)
      #expect(found == handle)
    }
  }

  /// An element in its place moves others far from theirs.
  @Test func `a long run of elements is not walked to its end`() {
    let texts = Texts(4_000)
    var index = HashIndex(capacity: 3_000)
    for handle in 0..<2_000 as Range<UInt32> {
      index.insert(texts[handle], handle, handle, textOf: texts.lend)
    }
    let isInPlace = index.distances.allSatisfy { $0 == 0 }
    #expect(isInPlace)
    // The text does not exist; all 2000 are behind its place.
    let missing = index.find(texts[3_000], 0, textOf: texts.lend)
    #expect(missing == nil)
    // No more than 256 stay at one place.
    for handle in 2_000..<2_300 as Range<UInt32> {
      index.insert(texts[handle], 0, handle, textOf: texts.lend)
    }
    let farthest = index.distances.max() ?? 0
    #expect(farthest <= HashIndex.maxDistance)
    for handle in 0..<2_300 as Range<UInt32> {
      let found = index.find(texts[handle], handle < 2_000 ? handle : 0, textOf: texts.lend)
      #expect(found == handle)
    }
  }

  @Test func `random hashes never need a key of the table's own`() {
    let count: UInt32 = 200_000
    let texts = Texts(Int(count))
    var index = HashIndex()
    for handle in 0..<count {
      index.insert(texts[handle], ByteHash.of(texts[handle]), handle, textOf: texts.lend)
    }
    let hasOwnKey = index.hasOwnKey
    #expect(!hasOwnKey)
    expectFewProbes(index, texts, count: Int(count))
  }
}
