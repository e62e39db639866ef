import Glibc

/// Formats points in time for users and logs.
package enum Timestamp {
  /// RFC 3339 in UTC with three fractional digits, such as `2026-11-20T10:00:00.250Z`.
  ///
  /// The calendar is the proleptic Gregorian one. Years outside 0...9999, which RFC 3339 does not allow, are written
  /// with as many digits as needed, and a sign if negative.
  ///
  /// - Parameter milliseconds: since 1970-01-01T00:00:00Z; may be negative.
  package static func rfc3339(milliseconds: Int64) -> String {
    var (seconds, millisecond) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    if millisecond < 0 { (seconds, millisecond) = (seconds - 1, millisecond + 1000) }
    var date = tm()
    var time = time_t(seconds)
    gmtime_r(&time, &date)
    let day = [padded(date.tm_year + 1900, 4), padded(date.tm_mon + 1, 2), padded(date.tm_mday, 2)]
    let clock = [padded(date.tm_hour, 2), padded(date.tm_min, 2), padded(date.tm_sec, 2)]
    return day.joined(separator: "-") + "T" + clock.joined(separator: ":") + "."
      + padded(Int32(millisecond), 3) + "Z"
  }

  private static func padded(_ value: Int32, _ width: Int) -> String {
    let digits = String(value.magnitude)
    let zeros = String(repeating: "0", count: max(0, width - digits.utf8.count))
    return (value < 0 ? "-" : "") + zeros + digits
  }

  /// The input that ``milliseconds(since:now:)`` accepts, for messages.
  package static let allowedSince =
    "a time such as 2026-11-20T10:00:00Z, a day such as 2026-11-20, or how long ago: 90s, 15m, 6h, 7d"

  /// Parses a point in time in a user's spelling.
  ///
  /// - Parameters:
  ///   - text: RFC 3339 (`2026-11-20T10:00:00.250Z`, `2026-11-20T10:00:00+01:00`), a date (its beginning in UTC), or a
  ///     number with `s`, `m`, `h` or `d`: that long before now.
  ///   - now: in milliseconds since 1970.
  /// - Returns: milliseconds since 1970; nil if the text is invalid.
  package static func milliseconds(since text: String, now: Int64) -> Int64? {
    if let past = text.wholeMatch(of: /([0-9]{1,9})([smhd])/) {
      let units: [Substring: Int64] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
      guard let count = Int64(past.1), let unit = units[past.2] else { return nil }
      return now - count * unit
    }
    let pattern =
      /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2})))?/
    guard let parts = text.wholeMatch(of: pattern) else { return nil }
    func number(_ text: Substring?) -> Int32 { text.flatMap { Int32($0) } ?? 0 }
    let (hour, minute, second) = (number(parts.4), number(parts.5), number(parts.6))
    let (offsetHour, offsetMinute) = (number(parts.9), number(parts.10))
    guard hour < 24, minute < 60, second < 60, offsetHour < 24, offsetMinute < 60 else { return nil }
    var date = tm()
    date.tm_year = number(parts.1) - 1900
    date.tm_mon = number(parts.2) - 1
    date.tm_mday = number(parts.3)
    let day = date.tm_mday
    // Otherwise, a 30th of February would become the first of March.
    let midnight = timegm(&date)
    guard date.tm_mday == day, date.tm_mon == number(parts.2) - 1 else { return nil }
    let fraction = parts.7.map { ($0 + "000").prefix(3) }
    let offset = (offsetHour * 60 + offsetMinute) * (parts.8 == "-" ? -60 : 60)
    return (Int64(midnight) + Int64(hour * 3_600 + minute * 60 + second - offset)) * 1_000
      + Int64(number(fraction))
  }
}
