/// Knuth's linear congruential generator, of which the upper half is used: the same numbers for a seed.
package struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  package init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

  package mutating func next() -> UInt64 { half() << 32 | half() }

  package mutating func next(_ count: Int) -> Int { Int(half() % UInt64(count)) }

  private mutating func half() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 32
  }
}
