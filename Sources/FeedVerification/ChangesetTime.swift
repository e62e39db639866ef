import Feed

/// Reads the times of changesets.
enum ChangesetTime {
  /// The milliseconds since 1970 that a time says; nil if it is not spelled as `TimestampFormat` does.
  static func milliseconds(_ text: ByteSpan) -> Int64? {
    guard text.count == TimestampFormat.byteCount, let milliseconds = read(text) else { return nil }
    // Whatever else may be wrong, like the 30th of February, does not come out again as it was.
    let writer = ByteWriter(capacity: TimestampFormat.byteCount)
    TimestampFormat.append(milliseconds, to: writer)
    return writer.written.hasSameBytes(as: text) ? milliseconds : nil
  }

  private static func read(_ text: ByteSpan) -> Int64? {
    func number(_ range: Range<Int>) -> Int64? {
      var number: Int64 = 0
      for at in range {
        let digit = text[at] &- 0x30
        guard digit < 10 else { return nil }
        number = number * 10 + Int64(digit)
      }
      return number
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      let fraction = number(20..<23), (1...12).contains(month)
    else { return nil }
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    return seconds * 1000 + fraction
  }

  /// The days from 1970-01-01 to a Gregorian date. Years are counted from March, so that a leap day is the
  /// last of its year, and from -400 on, so that nothing is negative.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let years = (month > 2 ? year : year - 1) + 400
    let months = (month + 9) % 12
    // 1970-01-01 is day 865,565 of that count.
    return years * 365 + years / 4 - years / 100 + years / 400 + (months * 306 + 5) / 10 + day - 1 - 865_565
  }
}
