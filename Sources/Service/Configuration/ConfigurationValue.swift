/// A value in a configuration, as JSON5 represents it.
public enum ConfigurationValue: Sendable, Equatable {
  case null
  case boolean(Bool)
  /// An integer that fits in 64 bits, in any spelling (`1e3`, `0x10`, `5.0`).
  case integer(Int64)
  /// Any other number, including infinity and NaN.
  case number(Double)
  case string(String)
  case array([ConfigurationValue])
  case object([String: ConfigurationValue])

  /// The value as text; nil unless it is a boolean, a number or a string.
  public var text: String? {
    switch self {
    case .boolean(let value): String(value)
    case .integer(let value): String(value)
    case .number(let value): value.description
    case .string(let value): value
    case .null, .array, .object: nil
    }
  }
}

extension ConfigurationValue: CustomStringConvertible {
  /// The value for error messages: strings in quotes, lists and objects without their content.
  public var description: String {
    switch self {
    case .null: "null"
    case .boolean, .integer, .number: text ?? ""
    case .string(let value): value.debugDescription
    case .array: "a list"
    case .object: "an object"
    }
  }
}

extension ConfigurationValue: Decodable {
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: ConfigurationKey.self) {
      var members: [String: ConfigurationValue] = [:]
      for key in container.allKeys {
        members[key.stringValue] = try container.decode(ConfigurationValue.self, forKey: key)
      }
      self = .object(members)
    } else if var container = try? decoder.unkeyedContainer() {
      var elements: [ConfigurationValue] = []
      while !container.isAtEnd { elements.append(try container.decode(ConfigurationValue.self)) }
      self = .array(elements)
    } else {
      try self.init(scalar: try decoder.singleValueContainer())
    }
  }

  private init(scalar container: any SingleValueDecodingContainer) throws {
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else {
      self = .string(try container.decode(String.self))
    }
  }
}

/// Any member name.
private struct ConfigurationKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init?(stringValue: String) {
    self.stringValue = stringValue
  }

  init?(intValue: Int) {
    nil
  }
}
