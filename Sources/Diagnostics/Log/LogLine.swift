import OperatingSystem

/// A log line before it is formatted.
struct LogLine: Sendable {
  let event: LogEvent
  let message: String
  let fields: LogFields
  /// Fields common to all lines of a log, such as the worker.
  var context: LogFields = [:]

  /// The formatted line, without a line feed: at most ``LogText/longestLine`` bytes.
  ///
  /// - Parameters:
  ///   - milliseconds: the time since 1970.
  ///   - repeated: the number of repetitions since the last such line; 0 if they are not counted.
  func written(_ format: LogFormat, milliseconds: Int64, repeated: Int = 0) -> String {
    let fields = (repeated > 0 ? ["repeated": repeated] : [:]) + self.fields + context
    let time = Timestamp.rfc3339(milliseconds: milliseconds)
    switch format {
    case .text: return text(time, fields)
    case .json: return json(time, fields)
    }
  }

  private func text(_ time: String, _ fields: LogFields) -> String {
    let level = event.level.rawValue
    let padding = String(repeating: " ", count: max(0, 8 - level.utf8.count))
    let head = time + " " + level + padding + LogText.escaped(message) + " event=" + event.name
    let parts = fields.fields.map { " " + $0.name + "=" + LogText.quoted($0.value.description) }
    return Self.joined(head, parts, truncated: " truncated=true")
  }

  private func json(_ time: String, _ fields: LogFields) -> String {
    let head =
      #"{"time":"\#(time)","level":"\#(event.level.rawValue)","event":"\#(event.name)","message":"#
      + LogText.json(message)
    // Field names must be unique in an object.
    var names: Set = ["time", "level", "event", "message", "truncated"]
    let parts = fields.fields.map { field in
      var name = field.value.jsonName(field.name)
      while !names.insert(name).inserted { name += "_" }
      return "," + LogText.json(name) + ":" + (field.value.number ?? LogText.json(field.value.description))
    }
    return Self.joined(head, parts, truncated: #","truncated":true"#) + "}"
  }

  /// As many parts as fit, and a marker if some are omitted.
  private static func joined(_ head: String, _ parts: [String], truncated: String) -> String {
    var line = head
    for part in parts {
      guard line.utf8.count + part.utf8.count + truncated.utf8.count < LogText.longestLine else {
        return line + truncated
      }
      line += part
    }
    return line
  }

  /// The key that identifies repetitions: everything except figures, and except the context if it is
  /// irrelevant.
  var repeatKey: String {
    let compared = event.isOfProcess ? fields : fields + context
    let figures = compared.fields.filter(\.value.isCompared).map { name, value in
      "\n\(name)=\(value.number ?? RepeatText.comparable(value.description))"
    }
    return event.name + "\n" + RepeatText.comparable(message) + figures.joined()
  }
}

package enum LogFormat: String, Sendable, CaseIterable {
  /// For users: time, level, message, event, and fields as `key=value`.
  case text
  /// For programs: one JSON object per line.
  case json
}

/// A quantity in a log line: formatted in text; in JSON a plain number, whose field's name ends with the unit.
///
/// ```
/// ["state": LogFigure.bytes(3_400_000)]     state="3.4 MB"     "stateBytes":3400000
/// ```
///
/// Quantities vary between repetitions of an event, so lines that differ only in figures count as repeated.
package struct LogFigure: Sendable, CustomStringConvertible {
  package let description: String
  /// The value in JSON; nil for text.
  let number: String?
  /// The suffix of the field's name in JSON, unless it already is the whole name; empty for a count.
  let unit: String
  /// Whether lines with other values are not repetitions, because the value is not a quantity.
  var isCompared = false

  private init(_ number: some BinaryInteger, _ unit: String, _ description: String) {
    self.number = String(number)
    self.unit = unit
    self.description = description
  }

  /// An unformatted value.
  init(plain value: any CustomStringConvertible) {
    description = value.description
    let isNumber = value is Bool || value is any BinaryInteger || (value as? Double)?.isFinite == true
    number = isNumber ? value.description : nil
    unit = ""
    isCompared = true
  }

  package static func count(_ count: some BinaryInteger) -> LogFigure {
    LogFigure(count, "", String(count))
  }

  package static func bytes(_ bytes: some BinaryInteger) -> LogFigure {
    LogFigure(bytes, "Bytes", Quantity.bytes(bytes))
  }

  package static func bytesPerSecond(_ bytes: some BinaryInteger) -> LogFigure {
    LogFigure(bytes, "BytesPerSecond", Quantity.bytes(bytes) + "/s")
  }

  package static func duration(milliseconds: Int64) -> LogFigure {
    let nanoseconds = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    return LogFigure(
      milliseconds,
      "Milliseconds",
      Quantity.duration(nanoseconds: nanoseconds.overflow ? .max : nanoseconds.partialValue)
    )
  }

  /// The name of the field in JSON.
  func jsonName(_ name: String) -> String { name.lowercased() == unit.lowercased() ? name : name + unit }
}

/// Formats quantities for users, independently of the locale.
package enum Quantity {
  /// With thousands separators: `1,234,567`.
  package static func count(_ value: some BinaryInteger) -> String {
    let digits = Array(String(value.magnitude))
    var text = value < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// With one digit in the largest decimal unit that fits: `999 B`, `1.0 kB`, `12.3 MB`.
  package static func bytes(_ value: some BinaryInteger) -> String {
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
  package static func duration(nanoseconds: Int64) -> String {
    let seconds = Double(nanoseconds) / 1e9
    switch nanoseconds.magnitude {
    case 0..<1_000_000: return "\(nanoseconds / 1000) µs"
    case 0..<1_000_000_000: return fixed(seconds * 1000, digits: 1) + " ms"
    case 0..<60_000_000_000: return fixed(seconds, digits: 2) + " s"
    default: return (nanoseconds < 0 ? "-" : "") + clock(seconds: Int64(seconds.magnitude))
    }
  }

  /// Minutes and seconds, with hours if there are any: `0:05`, `12:34`, `1:02:05`.
  package static func clock(seconds: Int64) -> String {
    func twoDigits(_ value: Int64) -> String { (value < 10 ? "0" : "") + String(value) }
    let minutes = seconds / 60
    if minutes < 60 { return "\(minutes):\(twoDigits(seconds % 60))" }
    return "\(minutes / 60):\(twoDigits(minutes % 60)):\(twoDigits(seconds % 60))"
  }

  /// A number with thousands separators and a fixed number of decimals, rounded half away from zero.
  ///
  /// - Parameter digits: 0...9.
  package static func fixed(_ value: Double, digits: Int) -> String {
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

/// Escapes and truncates text for log lines, so that untrusted text can neither forge a line nor control a terminal.
enum LogText {
  /// The maximum size of an escaped message or value, in bytes.
  static let longestValue = 4_096
  /// The maximum size of a line without its line feed, in bytes. Log collectors split lines at 16 KiB.
  static let longestLine = 16_000

  /// Escapes a message, or a value in the text format, as in `\n` and `\u{1b}`.
  ///
  /// - Parameter control: the escape of a control character.
  static func escaped(
    _ text: String,
    quotes: Bool = false,
    control: (Unicode.Scalar) -> String = { "\\u{" + String($0.value, radix: 16) + "}" }
  ) -> String {
    bounded(text) { scalar in
      switch scalar {
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      case "\"" where quotes: "\\\""
      case "\\" where quotes: "\\\\"
      case _ where scalar.isControl: control(scalar)
      default: nil
      }
    }
  }

  /// The text unchanged if it is one plain word, otherwise in quotes.
  static func quoted(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.value > 0x20 && $0 != "=" && $0 != "\"" && $0 != "\\" && !$0.properties.isWhitespace && !$0.isControl
    }
    return isPlain && !text.isEmpty && text.utf8.count <= longestValue
      ? text : "\"" + escaped(text, quotes: true) + "\""
  }

  /// A JSON string with quotes. Terminal control characters are escaped as well, although JSON does not require it.
  static func json(_ text: String) -> String {
    "\"" + escaped(text, quotes: true, control: jsonEscape) + "\""
  }

  /// A single escape suffices, because all control characters are in the basic multilingual plane.
  private static func jsonEscape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  /// Truncates text, and marks that with an ellipsis.
  private static func bounded(_ text: String, _ replacement: (Unicode.Scalar) -> String?) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      let escape = replacement(scalar)
      count += escape?.utf8.count ?? UTF8.width(scalar)
      if count > longestValue { return result + "…" }
      if let escape { result += escape } else { result.unicodeScalars.append(scalar) }
    }
    return result
  }
}

extension Unicode.Scalar {
  /// Whether a terminal or log viewer might interpret it as a command, a line break, or a change of text direction.
  fileprivate var isControl: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: properties.isBidiControl
    default: false
    }
  }
}
