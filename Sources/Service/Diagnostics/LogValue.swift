/// The value of a field of a log line.
enum LogValue: Sendable {
  case text(String)
  /// A number as digits, which are the same in JSON.
  case number(String)
  case boolean(Bool)
  case figure(LogFigure)

  init(_ value: any CustomStringConvertible) {
    switch value {
    case let value as LogFigure: self = .figure(value)
    case let value as Bool: self = .boolean(value)
    case let value as any BinaryInteger: self = .number(value.description)
    case let value as Double where value.isFinite: self = .number(value.description)
    default: self = .text(value.description)
    }
  }

  /// The value in the text format.
  var description: String {
    switch self {
    case .text(let text): text
    case .number(let digits): digits
    case .boolean(let value): value.description
    case .figure(let figure): figure.description
    }
  }
}
