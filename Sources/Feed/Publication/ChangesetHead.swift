/// The fields before a changeset's lists, in the order of the protocol, without `part` and `parts`.
package struct ChangesetHead {
  package var feed: ByteSpan
  var epoch: [UInt8]
  package var revision: UInt64
  package var base: UInt64
  package var mode: ChangesetMode
  package var reason: ReloadReason?
  package var time: Int64
  package var through: [TopicOffset]
  var checksum: UInt32

  private static var partName: StaticString { ",\"part\":" }
  private static var partsName: StaticString { ",\"parts\":" }

  /// Appends the head, and leaves its object open.
  func write(part: (number: Int, count: Int)?, to output: ByteWriter) {
    writeBeforeBase(to: output)
    output.append(decimal: base)
    writeAfterBase(part: part, to: output)
  }

  func writeBeforeBase(to output: ByteWriter) {
    output.append("{\"feed\":")
    output.append(quoted: feed)
    output.append(",\"epoch\":")
    epoch.withUnsafeBytes { output.append(quoted: ByteSpan($0)) }
    output.append(",\"revision\":")
    output.append(decimal: revision)
    output.append(",\"base\":")
  }

  func writeAfterBase(part: (number: Int, count: Int)?, to output: ByteWriter) {
    if let part {
      output.append(ChangesetHead.partName)
      output.append(decimal: part.number)
      output.append(ChangesetHead.partsName)
      output.append(decimal: part.count)
    }
    switch mode {
    case .reconfigure: output.append(",\"mode\":\"reconfigure\"")
    case .diff: output.append(",\"mode\":\"diff\"")
    case .reload: output.append(",\"mode\":\"reload\"")
    case .delete: output.append(",\"mode\":\"delete\"")
    }
    if let reason {
      output.append(",\"reason\":\"")
      output.append(string: reason.rawValue)
      output.append(UInt8(ascii: "\""))
    }
    output.append(",\"time\":\"")
    TimestampFormat.append(time, to: output)
    output.append("\",\"through\":{")
    for (position, entry) in through.enumerated() {
      if position > 0 { output.append(UInt8(ascii: ",")) }
      entry.topic.withUnsafeBytes { output.append(quoted: ByteSpan($0)) }
      output.append(UInt8(ascii: ":"))
      output.append(decimal: Int(entry.offset))
    }
    output.append("},\"checksum\":\"")
    output.append(hexadecimal: checksum)
    output.append(UInt8(ascii: "\""))
  }

  /// Bytes of the head without part fields.
  package func byteCount(scratch: ByteWriter) -> Int {
    scratch.removeAll()
    write(part: nil, to: scratch)
    return scratch.count
  }

  /// Bytes that the part fields add.
  static func partByteCount(number: Int, countDigits: Int) -> Int {
    partName.utf8CodeUnitCount + ByteWriter.digits(number) + partsName.utf8CodeUnitCount + countDigits
  }
}

extension ChangesetHead {
  /// The head of a record.
  ///
  /// - Parameters:
  ///   - time: the record's time, in milliseconds since 1970.
  ///   - through: the record's `through`.
  package init(_ record: DecodedChangeset, time: Int64, through: [TopicOffset]) {
    self.init(
      feed: record.feed,
      epoch: Array(record.epoch.buffer),
      revision: record.revision,
      base: record.base,
      mode: record.mode,
      reason: record.mode == .reload ? record.reason : nil,
      time: time,
      through: through,
      checksum: record.checksum
    )
  }

  /// Whether another part of the feed's changeset has the same head.
  package func isSame(as other: ChangesetHead) -> Bool {
    (epoch, revision, base, mode) == (other.epoch, other.revision, other.base, other.mode)
      && (reason, time, through, checksum) == (other.reason, other.time, other.through, other.checksum)
  }
}

/// Timestamps as RFC 3339 text in UTC with three digits: `2026-11-20T10:00:00.250Z`.
public enum TimestampFormat {
  /// The text has 24 bytes for the years 0 to 9999.
  public static let byteCount = 24
  /// The first and last milliseconds since 1970 that RFC 3339 can write: years 0 to 9999.
  public static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// The nearest time within `range`.
  @inline(__always)
  public static func nearest(_ milliseconds: Int64) -> Int64 {
    min(max(milliseconds, range.lowerBound), range.upperBound)
  }

  /// Appends the text; a time outside of `range` becomes the nearest inside.
  public static func append(_ milliseconds: Int64, to output: ByteWriter) {
    let milliseconds = nearest(milliseconds)
    let dayLength: Int64 = 86_400_000
    let days = milliseconds >= 0 ? milliseconds / dayLength : (milliseconds - dayLength + 1) / dayLength
    let inDay = milliseconds - days * dayLength
    let (year, month, day) = civil(days)
    output.append(decimal: UInt64(year), width: 4)
    output.append(UInt8(ascii: "-"))
    output.append(decimal: UInt64(month), width: 2)
    output.append(UInt8(ascii: "-"))
    output.append(decimal: UInt64(day), width: 2)
    output.append(UInt8(ascii: "T"))
    output.append(decimal: UInt64(inDay / 3_600_000), width: 2)
    output.append(UInt8(ascii: ":"))
    output.append(decimal: UInt64(inDay / 60_000 % 60), width: 2)
    output.append(UInt8(ascii: ":"))
    output.append(decimal: UInt64(inDay / 1000 % 60), width: 2)
    output.append(UInt8(ascii: "."))
    output.append(decimal: UInt64(inDay % 1000), width: 3)
    output.append(UInt8(ascii: "Z"))
  }

  /// Calls the body with the text of a time.
  package static func withText<Result>(of milliseconds: Int64, _ body: (ByteSpan) -> Result) -> Result {
    let output = ByteWriter(capacity: byteCount)
    append(milliseconds, to: output)
    return body(output.written)
  }

  /// The Gregorian date of a day counted from 1970-01-01, by Howard Hinnant's `civil_from_days`
  /// ("chrono-Compatible Low-Level Date Algorithms").
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  // MARK: Reading

  /// The time of any RFC 3339 text, cut to milliseconds; nil if its form is wrong, or if it is not a time of the years
  /// 0 to 9999 in UTC.
  package static func rfc3339(_ text: ByteSpan) -> Int64? {
    guard text.count >= 20, text[10] | 0x20 == UInt8(ascii: "t") else { return nil }
    let digits = Array(text.buffer[20...].prefix { $0 &- 0x30 < 10 })
    let isFractional = text[19] == UInt8(ascii: ".") && !digits.isEmpty
    let zone = isFractional ? 20 + digits.count : 19
    var canonical = Array("0000-00-00T00:00:00.000Z".utf8)
    canonical.replaceSubrange(..<10, with: text.buffer[..<10])
    canonical.replaceSubrange(11..<19, with: text.buffer[11..<19])
    if isFractional { canonical.replaceSubrange(20..<23, with: (digits + [0x30, 0x30]).prefix(3)) }
    guard zone < text.count, let local = canonical.withUnsafeBytes({ milliseconds(ByteSpan($0)) }) else {
      return nil
    }
    if zone + 1 == text.count, text[zone] | 0x20 == UInt8(ascii: "z") { return local }
    guard zone + 6 == text.count, text[zone + 3] == UInt8(ascii: ":"),
      let sign: Int64 = [UInt8(ascii: "+"): -1, UInt8(ascii: "-"): 1][text[zone]],
      let hours = number(text, zone + 1, 2), let minutes = number(text, zone + 4, 2), hours < 24, minutes < 60
    else { return nil }
    let time = local + sign * (hours * 60 + minutes) * 60_000
    return range.contains(time) ? time : nil
  }

  /// The time of such a text; nil if its form is wrong or the date does not exist.
  package static func milliseconds(_ text: ByteSpan) -> Int64? {
    guard text.count == byteCount, hasSeparators(text),
      let year = number(text, 0, 4), let month = number(text, 5, 2), let day = number(text, 8, 2),
      let hour = number(text, 11, 2), let minute = number(text, 14, 2), let second = number(text, 17, 2),
      let fraction = number(text, 20, 3), (1...12).contains(month), hour < 24, minute < 60, second < 60
    else { return nil }
    let days = dayNumber(year, month, day)
    // For example, the 30th of February is a day of March.
    guard civil(days) == (year, month, day) else { return nil }
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + fraction
  }

  /// The time of a JSON value: of RFC 3339 text, or milliseconds since 1970 in digits.
  package static func time(of value: JSONText.Field, in text: JSONText, _ arena: ScratchArena) -> Int64? {
    text.character(value.first) == UInt8(ascii: "\"")
      ? rfc3339(text.string(value.first, arena: arena))
      : NumberField(digits: text.span(of: value), in: 0...range.upperBound)?.number
  }

  /// The times that events may have, for messages.
  package static let allowedEnd =
    "an RFC 3339 time in the years 0 to 9999, or milliseconds since 1970 in digits"

  private static func hasSeparators(_ text: ByteSpan) -> Bool {
    text[4] == UInt8(ascii: "-") && text[7] == UInt8(ascii: "-") && text[10] == UInt8(ascii: "T")
      && text[13] == UInt8(ascii: ":") && text[16] == UInt8(ascii: ":") && text[19] == UInt8(ascii: ".")
      && text[23] == UInt8(ascii: "Z")
  }

  private static func number(_ text: ByteSpan, _ first: Int, _ count: Int) -> Int64? {
    var number: Int64 = 0
    for index in first..<first + count {
      let digit = text[index] &- 0x30
      guard digit < 10 else { return nil }
      number = number * 10 + Int64(digit)
    }
    return number
  }

  /// The day counted from 1970-01-01 of a Gregorian date, by Hinnant's `days_from_civil` (see above).
  private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
