import Foundation

/// The number of random cases: few enough to wait for, or several times as many in `make test-slow`.
public enum RandomCases {
  /// Whether `FEEDSTORE_TEST_SLOW` is set.
  public static let areMany = ProcessInfo.processInfo.environment["FEEDSTORE_TEST_SLOW"]?.isEmpty == false

  private static let factor: UInt64 = 3

  /// The seeds of a test: the given ones, and following ones for slow tests.
  public static func seeds(_ seeds: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
    let count = UInt64(seeds.count)
    return seeds.lowerBound...seeds.lowerBound + (areMany ? factor * count : count) - 1
  }
}
