/// What a log line says besides its message, in order: `["topic": topic, "records": count]`.
public struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
  /// The fields as they are written, each with a space before it: ` topic=feeds.items records=12`.
  let text: String

  public init(dictionaryLiteral fields: (String, any CustomStringConvertible)...) {
    text = fields.reduce(into: "") { text, field in
      text += " " + field.0 + "=" + Self.quoted(field.1.description)
    }
  }

  private init(text: String) {
    self.text = text
  }

  static func + (first: LogFields, second: LogFields) -> LogFields {
    LogFields(text: first.text + second.text)
  }

  /// The text as it is if it is one plain word, else in quotes.
  private static func quoted(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.value > 0x20 && $0 != "=" && $0 != "\"" && $0 != "\\" && !$0.properties.isWhitespace && !$0.isControl
    }
    return isPlain && !text.isEmpty ? text : "\"" + escaped(text, quotes: true) + "\""
  }

  /// Text that stays on its line, so that what comes from outside cannot forge a log line.
  static func escaped(_ text: String, quotes: Bool = false) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\"" where quotes: result += "\\\""
      case "\\" where quotes: result += "\\\\"
      case _ where scalar.isControl: result += "\\u{" + String(scalar.value, radix: 16) + "}"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}

extension Unicode.Scalar {
  /// Whether a terminal or a log reader might take it for a command or a line's end.
  fileprivate var isControl: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
