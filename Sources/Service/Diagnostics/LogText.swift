/// Writes text into log lines, so that what comes from outside can neither forge a line nor steer a terminal, and is
/// not too long.
enum LogText {
  /// Most bytes of a message or of a value, as written.
  static let longestValue = 4_096
  /// Most bytes of a line, without the line feed. Log collectors split lines at 16 KiB.
  static let longestLine = 16_000

  /// A message, or a value in text: `\n`, `\u{1b}`.
  static func escaped(_ text: String, quotes: Bool = false) -> String {
    bounded(text) { scalar in
      switch scalar {
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      case "\"" where quotes: "\\\""
      case "\\" where quotes: "\\\\"
      case _ where scalar.isControl: "\\u{" + String(scalar.value, radix: 16) + "}"
      default: nil
      }
    }
  }

  /// The text as it is if it is one plain word, else in quotes.
  static func quoted(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.value > 0x20 && $0 != "=" && $0 != "\"" && $0 != "\\" && !$0.properties.isWhitespace && !$0.isControl
    }
    return isPlain && !text.isEmpty && text.utf8.count <= longestValue
      ? text : "\"" + escaped(text, quotes: true) + "\""
  }

  /// A JSON string, in its quotes. What could steer a terminal is escaped as well, though JSON does not ask for it.
  static func json(_ text: String) -> String {
    let content = bounded(text) { scalar in
      switch scalar {
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      case "\"": "\\\""
      case "\\": "\\\\"
      case _ where scalar.isControl: jsonEscape(scalar)
      default: nil
      }
    }
    return "\"" + content + "\""
  }

  /// All control characters are in the basic plane, so that one escape does.
  private static func jsonEscape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  /// Ends with an ellipsis where text is left out.
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
  /// Whether a terminal or a log reader might take it for a command, a line's end, or another order of what follows.
  fileprivate var isControl: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: properties.isBidiControl
    default: false
    }
  }
}
