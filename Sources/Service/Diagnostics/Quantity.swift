/// Formats quantities for people, independently of the locale.
public enum Quantity {
  /// With thousands separators: `1,234,567`.
  public static func count(_ value: some BinaryInteger) -> String {
    let digits = Array(String(value.magnitude))
    var text = value < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// With one digit in the largest decimal unit that fits: `999 B`, `1.0 kB`, `12.3 MB`.
  public static func bytes(_ value: some BinaryInteger) -> String {
    guard value.magnitude >= 1000 else { return "\(value) B" }
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    var amount = Double(value) / 1000
    var unit = 0
    // A value that would be rounded to 1000.0 is shown as 1.0 of the next unit.
    while amount.magnitude >= 999.95, unit + 1 < units.count {
      amount /= 1000
      unit += 1
    }
    return fixed(amount, digits: 1) + " " + units[unit]
  }

  /// For durations: `850 µs`, `12.3 ms`, `4.56 s`, `2:05` (minutes), `1:02:05` (hours).
  public static func duration(nanoseconds: Int64) -> String {
    let seconds = Double(nanoseconds) / 1e9
    switch nanoseconds.magnitude {
    case 0..<1_000_000: return "\(nanoseconds / 1000) µs"
    case 0..<1_000_000_000: return fixed(seconds * 1000, digits: 1) + " ms"
    case 0..<60_000_000_000: return fixed(seconds, digits: 2) + " s"
    default: return (nanoseconds < 0 ? "-" : "") + clock(seconds: Int64(seconds.magnitude))
    }
  }

  /// Minutes and seconds, with hours if there are any: `0:05`, `12:34`, `1:02:05`.
  public static func clock(seconds: Int64) -> String {
    func twoDigits(_ value: Int64) -> String { (value < 10 ? "0" : "") + String(value) }
    let minutes = seconds / 60
    if minutes < 60 { return "\(minutes):\(twoDigits(seconds % 60))" }
    return "\(minutes / 60):\(twoDigits(minutes % 60)):\(twoDigits(seconds % 60))"
  }

  /// A number with thousands separators and a fixed number of decimals, rounded half away from zero.
  ///
  /// - Parameter digits: 0...9.
  public static func fixed(_ value: Double, digits: Int) -> String {
    guard value.isFinite else { return "\(value)" }
    let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
    guard let scaled = Int64(exactly: (value.magnitude * scale).rounded()) else { return "\(value)" }
    let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: Int64(scale))
    let sign = value < 0 && scaled != 0 ? "-" : ""
    guard digits > 0 else { return sign + count(whole) }
    let fractionText = String(fraction)
    return sign + count(whole) + "." + String(repeating: "0", count: digits - fractionText.count)
      + fractionText
  }
}
