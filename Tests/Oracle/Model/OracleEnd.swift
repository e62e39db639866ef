/// When items end.
public enum OracleEnd {
  /// The last millisecond of the year 9999.
  static let last = 253_402_300_799_999
  static let first = -62_167_219_200_000

  /// An event's `expires`; nil if it is invalid.
  static func time(_ json: OracleJSON) -> Int? {
    if let text = json.string { return time(String(decoding: text, as: UTF8.self)) }
    guard json.content == .number, keeps(.endNumber) else { return nil }
    return digits(json).flatMap { $0 <= last || !keeps(.endLimited) ? min($0, last) : nil }
  }

  /// An event's or a changeset's `ttl`; nil if it is invalid.
  public static func ttl(_ json: OracleJSON) -> Int? {
    guard json.content == .number, let ttl = digits(json), ttl >= 1 || !keeps(.ttlPositive),
      ttl <= 3_155_760_000_000 || !keeps(.ttlLimited)
    else { return nil }
    return ttl
  }

  /// A changeset's `expires`; nil if it is invalid, and thus ignored.
  public static func published(_ json: OracleJSON) -> Int? {
    guard let text = json.string.map({ String(decoding: $0, as: UTF8.self) }), let time = time(text) else {
      return nil
    }
    return OracleTime.text(milliseconds: time) == text ? time : nil
  }

  private static func digits(_ json: OracleJSON) -> Int? {
    json.minified.allSatisfy { (0x30...0x39).contains($0) }
      ? Int(String(decoding: json.minified, as: UTF8.self)) : nil
  }

  /// RFC 3339, by counting days.
  static func time(_ text: String) -> Int? {
    let form =
      /([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))/
    guard let match = text.wholeMatch(of: form), let year = Int(match.1), let month = Int(match.2),
      let day = Int(match.3), let hour = Int(match.4), let minute = Int(match.5), let second = Int(match.6),
      (1...12).contains(month), (1...OracleTime.length(ofMonth: month, year)).contains(day),
      hour < 24, minute < 60, second < 60
    else { return nil }
    var days = day - 1
    for earlier in 1..<month { days += OracleTime.length(ofMonth: earlier, year) }
    if year >= 1970 {
      for earlier in 1970..<year { days += OracleTime.length(ofYear: earlier) }
    } else {
      for later in year..<1970 { days -= OracleTime.length(ofYear: later) }
    }
    let fraction = keeps(.endFraction) ? Int(((match.7 ?? "") + "000").prefix(3)) ?? 0 : 0
    var time = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + fraction
    if let sign = match.8, let hours = match.9.flatMap({ Int($0) }),
      let minutes = match.10.flatMap({ Int($0) })
    {
      guard hours < 24, minutes < 60 else { return nil }
      let offset = (hours * 60 + minutes) * 60_000
      if keeps(.endOffset) { time += sign == "+" ? -offset : offset }
    }
    return (first...last).contains(time) ? time : nil
  }
}

extension OracleFeed {
  /// When the next item ends; nil if none does.
  var nextEnd: Int? { sections.flatMap { $0.items.compactMap(\.expires) }.min() }
}
