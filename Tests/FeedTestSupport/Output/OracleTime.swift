/// RFC 3339 in UTC with three fractional digits, by counting days.
public enum OracleTime {
  public static func text(milliseconds: Int) -> String {
    let millisecondsADay = 86_400_000
    var days = milliseconds / millisecondsADay
    var rest = milliseconds % millisecondsADay
    if rest < 0 {
      days -= 1
      rest += millisecondsADay
    }
    var year = 1970
    while days < 0 {
      year -= 1
      days += length(ofYear: year)
    }
    while days >= length(ofYear: year) {
      days -= length(ofYear: year)
      year += 1
    }
    var month = 1
    while days >= length(ofMonth: month, year) {
      days -= length(ofMonth: month, year)
      month += 1
    }
    let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(days + 1, 2))"
    let minutes = "\(padded(rest / 3_600_000, 2)):\(padded(rest / 60_000 % 60, 2))"
    let seconds = "\(padded(rest / 1000 % 60, 2)).\(padded(rest % 1000, 3))"
    return "\(date)T\(minutes):\(seconds)Z"
  }

  static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  private static func length(ofYear year: Int) -> Int { isLeap(year) ? 366 : 365 }

  private static func length(ofMonth month: Int, _ year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
