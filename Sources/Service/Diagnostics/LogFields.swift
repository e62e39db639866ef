/// The fields of a log line, in order: `["topic": topic, "records": count]`.
///
/// Numbers and booleans keep their types in JSON; quantities are ``LogFigure``s; all other values are strings. Names
/// are camelCase, as in JSON.
public struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
  let fields: [(name: String, value: LogValue)]

  public init(dictionaryLiteral fields: (String, any CustomStringConvertible)...) {
    self.fields = fields.map { ($0.0, LogValue($0.1)) }
  }

  private init(_ fields: [(name: String, value: LogValue)]) {
    self.fields = fields
  }

  public static func + (first: LogFields, second: LogFields) -> LogFields {
    LogFields(first.fields + second.fields)
  }
}
