/// What a log line says besides its message, in order: `["topic": topic, "records": count]`.
///
/// Integers, floating-point numbers and booleans stay what they are in JSON; quantities are ``LogFigure``s; everything else is
/// text. Names are camelCase, as in JSON.
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
