import Oracle
import Testing

@testable import Feed

@Suite struct HashKeyTests {
  private func words(_ random: inout SplitMix64) -> [UInt64] {
    (0..<HashKey.wordCount).map { _ in random.next() }
  }

  private func hash(_ text: [UInt8], _ key: [UInt64]) -> UInt32 {
    let key = HashKey(words: key)
    defer { key.release() }
    return withSpan(text) { key.hash($0) }
  }

  /// A number from some bytes of a text, the first the lowest.
  private func number(_ text: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    text[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The formula in the comment on `HashKey`, plainly.
  private func expected(_ text: [UInt8], _ key: [UInt64]) -> UInt32 {
    let count = text.count
    var words: [UInt64] = []
    if count > 256 {
      let modulus = UInt128(1) << 61 - 1
      var coefficients = [UInt64(count)]
      for offset in stride(from: 0, to: count - 8, by: 7) { coefficients.append(number(text, offset, 7)) }
      coefficients += [number(text, count - 8, 4), number(text, count - 4, 4)]
      let point = UInt128(key[0]) % (modulus + 1)
      let value = UInt64(coefficients.reduce(UInt128(0)) { ($0 * point + UInt128($1)) % modulus })
      words = [value & 0xFFFF_FFFF, value >> 32]
    } else if count >= 8 {
      for offset in stride(from: 0, to: count - 8, by: 8) {
        words += [number(text, offset, 4), number(text, offset + 4, 4)]
      }
      words += [number(text, count - 8, 4), number(text, count - 4, 4)]
    } else if count >= 4 {
      words = [number(text, 0, 4), number(text, count - 4, 4)]
    }
    var sum = key[1] &+ UInt64(count) &* key[2]
    for place in stride(from: 0, to: words.count, by: 2) {
      sum = sum &+ (key[3 + place] &+ words[place]) &* (key[4 + place] &+ words[place + 1])
    }
    if (1...3).contains(count) {
      sum = sum &+ number([text[0], text[count / 2], text[count - 1]], 0, 3) &* key[3]
    }
    var hash = UInt32(sum >> 32)
    hash = (hash ^ hash >> 16) &* 0x85EB_CA6B
    hash = (hash ^ hash >> 13) &* 0xC2B2_AE35
    return hash ^ hash >> 16
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `is the documented formula at every length`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for count in Array(0...300) + [511, 4_096, 100_003] {
      let text = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      let key = words(&random)
      #expect(hash(text, key) == expected(text, key), "seed \(seed), \(count) bytes")
    }
  }

  /// Pairs of texts with equal hashes under functions with less secret data.
  private var pairs: [([UInt8], [UInt8])] {
    var pairs: [([UInt8], [UInt8])] = []
    for count in [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 32, 128, 240, 255, 256, 257, 300, 1_100] {
      let zeros = [UInt8](repeating: 0, count: count)
      pairs.append((zeros, zeros + [0]))
      for place in [0, count / 2, count - 1] {
        var other = zeros
        other[place] = 1
        pairs.append((zeros, other))
        other[place] = 0x80
        pairs.append((zeros, other))
      }
      // The same words in another order, and the same sum of them.
      if count >= 16 {
        var (one, other) = (zeros, zeros)
        (one[0], other[count - 8]) = (7, 7)
        pairs.append((one, other))
      }
    }
    return pairs
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func `any two texts collide as seldom as chance has it`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let keys = (0..<1_000).map { _ in HashKey(words: words(&random)) }
    defer { for key in keys { key.release() } }
    for (one, other) in pairs {
      var sameBucket = 0
      for key in keys {
        let (left, right) = (withSpan(one) { key.hash($0) }, withSpan(other) { key.hash($0) })
        #expect(left != right, "seed \(seed), \(one.count) and \(other.count) bytes")
        if left & 0xF == right & 0xF { sameBucket += 1 }
      }
      // 62 are expected; with 8 as the standard deviation, 20 or 110 are not chance.
      #expect((20..<110).contains(sameBucket), "seed \(seed), \(one.count) and \(other.count) bytes")
    }
  }

  @Test func `random keys differ`() {
    let keys = (0..<20).map { _ in HashKey.random() }
    defer { for key in keys { key.release() } }
    #expect(Set(keys.map { key in withSpan("text") { key.hash($0) } }).count > 15)
  }
}
