/// The unit of a numeric setting, and the units accepted for it.
public enum ConfigurationUnit: String, Sendable, CaseIterable {
  case milliseconds
  case bytes

  /// The accepted units, by name, in milliseconds or bytes.
  private var factors: [String: Int64] {
    switch self {
    case .milliseconds: ["ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000]
    case .bytes:
      [
        "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        "KiB": 1 << 10, "kiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
      ]
    }
  }

  /// Parses a number with a unit, such as `100ms`, `1.5s` or `8 MiB`.
  ///
  /// - Returns: the number in milliseconds or bytes; nil if the text is invalid or the result is not an integer.
  public func number(_ text: String) -> Int64? {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    var unit = text[number.endIndex...]
    if unit.first == " " { unit = unit.dropFirst() }
    guard let factor = factors[String(unit)] else { return nil }
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = Int64(parts[0]) else { return nil }
    var (result, overflow) = whole.multipliedReportingOverflow(by: factor)
    if parts.count == 2 {
      guard let share = Self.share(parts[1], of: factor) else { return nil }
      let (sum, isTooLarge) = result.addingReportingOverflow(share)
      (result, overflow) = (sum, overflow || isTooLarge)
    }
    return overflow ? nil : result
  }

  /// Converts the digits after a decimal point to the smallest unit; nil if the result is not an integer.
  private static func share(_ digits: Substring, of factor: Int64) -> Int64? {
    guard (1...9).contains(digits.count), let numerator = Int64(digits) else { return nil }
    let denominator = (0..<digits.count).reduce(Int64(1)) { power, _ in power * 10 }
    let (product, overflow) = numerator.multipliedReportingOverflow(by: factor)
    return overflow || product % denominator != 0 ? nil : product / denominator
  }

  /// A description of the allowed values.
  func allowed(_ range: ClosedRange<Int64>) -> String {
    let example =
      switch self {
      case .milliseconds: "a time with its unit, as in 250ms, 2s, 5m or 1h"
      case .bytes: "a size with its unit, as in 64kB or 8MiB"
      }
    return AllowedText.integer(range) + " (\(rawValue)), or " + example
  }
}
