import Foundation

/// Any JSON value, typed. What it cannot tell is in the text: how a number is spelled, the order of members, and members of
/// the same name, of which the last one counts.
public enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits.
  case integer(Int)
  /// Any other number; beyond the range of `Double` it is infinite.
  case number(Double)
  /// Also what is nested more than 200 levels deep: its JSON text.
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Parses a text.
  ///
  /// - Throws: If it is not JSON; the error says at which byte.
  public init(text: String) throws { self = Self.value(try JSONText(checking: text), depth: 0) }

  /// Deeper values could not be released: that is recursive, and the stacks of threads are small.
  private static let maxDepth = 200

  static func value(_ text: JSONText, depth: Int) -> JSONValue {
    switch text.kind {
    case .string: return .string(text.string ?? "")
    case .word: return text.isNull ? .null : .bool(text.bytes[text.range.lowerBound] == UInt8(ascii: "t"))
    case .number:
      let spelled = text.text
      return Int(spelled).map(JSONValue.integer) ?? .number(Double(spelled) ?? .infinity)
    case .array, .object:
      guard depth < maxDepth else { return .string(text.text) }
      if let elements = text.elements { return .array(elements.map { value($0, depth: depth + 1) }) }
      var members: [String: JSONValue] = [:]
      for (name, member) in text.members ?? [] {
        members[name.string ?? ""] = value(member, depth: depth + 1)
      }
      return .object(members)
    }
  }

  /// The value as JSON, with sorted names.
  public var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    // JSON has no infinity; a number that is out of range for all readers stands for it.
    case .number(let value):
      value.isFinite ? "\(value)" : value.isNaN ? "null" : value < 0 ? "-1e999" : "1e999"
    case .string(let value): Self.quoted(value)
    case .array(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
    case .object(let members):
      "{\(members.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)):\($0.value.text)" }.joined(separator: ","))}"
    }
  }

  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{08}": result += "\\b"
      case "\u{0c}": result += "\\f"
      case "\u{00}"..."\u{1f}":
        result += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// A member of an object; nil if there is none, and for anything else.
  public subscript(name: String) -> JSONValue? { object?[name] }

  /// An element of an array; nil if there is none, and for anything else.
  public subscript(index: Int) -> JSONValue? {
    array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
  }

  public var isNull: Bool { self == .null }

  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var string: String? { if case .string(let value) = self { value } else { nil } }
  public var integer: Int? { if case .integer(let value) = self { value } else { nil } }

  /// Any number.
  public var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
  public var object: [String: JSONValue]? {
    guard case .object(let value) = self else { return nil }
    return value
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(Dictionary(members) { _, last in last })
  }
}
