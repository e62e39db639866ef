/// Formats points in time for people and logs.
public enum Timestamp {
  /// RFC 3339 in UTC with three fractional digits, such as `2026-11-20T10:00:00.250Z`.
  ///
  /// The calendar is the proleptic Gregorian one. Years outside 0...9999, which RFC 3339 does not allow, are written
  /// with as many digits as needed, and a sign if negative.
  ///
  /// - Parameter milliseconds: since 1970-01-01T00:00:00Z; may be negative.
  public static func rfc3339(milliseconds: Int64) -> String {
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
