import Foundation

/// How many random cases tests try: as many as a developer waits for, or, in `make test-slow`, several times as many.
public enum RandomCases {
  /// Whether `FEEDSTORE_TEST_SLOW` asks for many.
  public static let areMany = ProcessInfo.processInfo.environment["FEEDSTORE_TEST_SLOW"]?.isEmpty == false

  private static let factor: UInt64 = 3

  /// The seeds of a test: those given, and those that follow them if many cases are asked for.
  public static func seeds(_ seeds: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
    let count = UInt64(seeds.count)
    return seeds.lowerBound...seeds.lowerBound + (areMany ? factor * count : count) - 1
  }
}
