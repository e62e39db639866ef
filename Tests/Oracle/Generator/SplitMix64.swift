import Foundation

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

/// The number of random cases: few enough to wait for, or several times as many in `make test-slow`.
public enum RandomCases {
  /// Whether `FEEDSTORE_TEST_SLOW` is set.
  public static let areMany = ProcessInfo.processInfo.environment["FEEDSTORE_TEST_SLOW"]?.isEmpty == false

  private static let factor: UInt64 = 2

  /// The seeds of a test: the given ones, and following ones for slow tests.
  public static func seeds(_ seeds: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
    let count = UInt64(seeds.count)
    return seeds.lowerBound...seeds.lowerBound + (areMany ? factor * count : count) - 1
  }
}

/// Every order of a list's elements.
public enum Permutations {
  /// All orders of the numbers below `count`, in lexicographic order.
  public static func of(_ count: Int) -> [[Int]] {
    of(Array(0..<count))
  }

  /// All orders of the elements, beginning with the given one.
  public static func of<Element>(_ elements: [Element]) -> [[Element]] {
    if elements.isEmpty { return [[]] }
    return elements.indices.flatMap { index -> [[Element]] in
      var others = elements
      let first = others.remove(at: index)
      return of(others).map { [first] + $0 }
    }
  }
}
