/// Escapes and truncates text for log lines, so that untrusted text can neither forge a line nor control a terminal.
enum LogText {
  /// The maximum size of an escaped message or value, in bytes.
  static let longestValue = 4_096
  /// The maximum size of a line without its line feed, in bytes. Log collectors split lines at 16 KiB.
  static let longestLine = 16_000

  /// Escapes a message, or a value in the text format: `
  /// `, `\u{1b}`.
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
