/// Steele, Lea and Flood's SplitMix64: small, and the same sequence on every platform.
public struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// True with this probability, in percent.
  public mutating func chance(_ percent: Int) -> Bool {
    Int(next() % 100) < percent
  }

  /// A number from 0 up to, but not including, `count`.
  public mutating func below(_ count: Int) -> Int {
    Int(next() % UInt64(count))
  }

  public mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[below(elements.count)]
  }
}
