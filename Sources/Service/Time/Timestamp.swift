/// Formats points in time for people and logs.
package enum Timestamp {
  /// RFC 3339 in UTC with three fractional digits, such as `2026-11-20T10:00:00.250Z`.
  ///
  /// The calendar is the proleptic Gregorian one. Years outside 0...9999, which RFC 3339 does not allow, are written
  /// with as many digits as needed, and a sign if negative.
  ///
  /// - Parameter milliseconds: since 1970-01-01T00:00:00Z; may be negative.
  package static func rfc3339(milliseconds: Int64) -> String {
    let (days, millisecondOfDay) = milliseconds.flooredDivision(by: 86_400_000)
    let date = civilDate(daysSinceEpoch: days)
    let second = millisecondOfDay / 1000
    return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T"
      + padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2) + ":" + padded(second % 60, 2) + "."
      + padded(millisecondOfDay % 1000, 3) + "Z"
  }

  /// The Gregorian date of a day number, counted in years that start on the first of March, so that the leap day is the
  /// last day of a year (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
  private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // 719468 days lie between 0000-03-01 and 1970-01-01; 146097 days are 400 years.
    let (era, dayOfEra) = (daysSinceEpoch + 719_468).flooredDivision(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
  }

  private static func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value.magnitude)
    let zeros = String(repeating: "0", count: max(0, width - digits.utf8.count))
    return (value < 0 ? "-" : "") + zeros + digits
  }
}

extension Int64 {
  /// The quotient rounded down, and a non-negative remainder, for a positive divisor.
  fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

extension Timestamp {
  /// The input that ``milliseconds(since:now:)`` accepts, for messages.
  package static let allowedSince =
    "a time such as 2026-11-20T10:00:00Z, a day such as 2026-11-20, or how long ago: 90s, 15m, 6h, 7d"

  /// Parses a point in time as a user writes it.
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
    func number(_ text: Substring?) -> Int64 { text.flatMap { Int64($0) } ?? 0 }
    let (hour, minute, second) = (number(parts.4), number(parts.5), number(parts.6))
    let (offsetHour, offsetMinute) = (number(parts.9), number(parts.10))
    guard hour < 24, minute < 60, second < 60, offsetHour < 24, offsetMinute < 60 else { return nil }
    let fraction = parts.7.map { ($0 + "000").prefix(3) }
    let offset = (offsetHour * 60 + offsetMinute) * (parts.8 == "-" ? -60 : 60)
    guard let day = day(year: number(parts.1), month: number(parts.2), day: number(parts.3)) else {
      return nil
    }
    return (day * 86_400 + hour * 3_600 + minute * 60 + second - offset) * 1_000 + number(fraction)
  }

  /// The number of days from 1970 to a Gregorian date, as in `civilDate`; nil if the date does not exist.
  private static func day(year: Int64, month: Int64, day: Int64) -> Int64? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...12).contains(month), (1...lengths[Int(month) - 1]).contains(day) else { return nil }
    // Years start in March, so that the leap day is the last day of a year.
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
