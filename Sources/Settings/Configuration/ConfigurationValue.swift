/// A value in a configuration, as JSON5 represents it.
package enum ConfigurationValue: Sendable, Equatable {
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
  package var text: String? {
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
  package var description: String {
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
  package init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: AnyKey.self) {
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
    } else if let value = try? container.decode(Double.self) {
      // Last, because when asked for an integer, the decoder traps on `0x0x1`, which is not a number.
      self = (try? container.decode(Int64.self)).map { .integer($0) } ?? .number(value)
    } else {
      self = .string(try container.decode(String.self))
    }
  }
}

/// Any member name.
package struct AnyKey: CodingKey {
  package let stringValue: String
  package var intValue: Int? { nil }

  package init(stringValue: String) { self.stringValue = stringValue }
  package init?(intValue: Int) { nil }
}

/// One setting: a value and its source.
package struct ConfigurationEntry: Sendable, Equatable {
  /// The value, with references resolved.
  package let value: ConfigurationValue
  package let source: ConfigurationSource
  /// The literal text after `KEY=` on a command line, in an environment variable, or after a reference; nil for values
  /// of a file.
  var spelling: String?
  /// The original text, if it has references. It can be shown even if the value is secret.
  var reference: String?

  /// The source of the setting, for error messages: `feedstore.json5:12` or `--set`.
  package var place: String { source.description }

  /// The value as a string that need not be quoted.
  ///
  /// `--set name=007` means the string `007`: the literal text counts, unless it is quoted.
  var unquotedText: String? {
    switch value {
    case .string(let text): text
    case .object: nil
    default: spelling ?? value.text
    }
  }

  /// The value as a string. A file must quote it, a command line need not.
  var string: String? {
    if case .string(let text) = value { return text }
    return spelling == nil ? nil : unquotedText
  }

  /// The value for error messages.
  func shown(isMasked: Bool) -> String {
    if let reference {
      return isMasked && !ConfigurationReferences.isOne(reference) ? Self.masked : reference
    }
    return isMasked && value != .string("") ? Self.masked : value.description
  }

  static let masked = "(not shown)"
  private static let longestNumber = 64
}

extension ConfigurationEntry {
  /// Creates an entry from unquoted text: numbers, `true` and `false` are parsed, and everything else is a string. For
  /// keys with string values, the literal text counts.
  init(text: String, source: ConfigurationSource, reference: String? = nil) {
    let value: ConfigurationValue =
      switch text.utf8.count <= Self.longestNumber ? ConfigurationDocument.value(of: text) : nil {
      case .boolean(let boolean)?: .boolean(boolean)
      case .integer(let integer)?: .integer(integer)
      case .number(let number)?: .number(number)
      default: .string(text)
      }
    self.init(value: value, source: source, spelling: text, reference: reference)
  }
}

package enum ConfigurationSource: Sendable, Equatable, CustomStringConvertible {
  /// The key is not set; it has its default.
  case defaultValue
  /// A file, with the line, from 1, if known.
  case file(String, line: Int?)
  case environment(String)
  case assignment
  /// A command's own setting, which other sources override.
  case command(String)

  /// The source in error messages: `feedstore.json5:12`, `FEEDSTORE_COALESCE_WINDOW`, `--set`, `default`.
  package var description: String {
    switch self {
    case .defaultValue: "default"
    case .file(let name, let line?): "\(name):\(line)"
    case .file(let name, nil): name
    case .environment(let variable): variable
    case .assignment: "--set"
    case .command(let name): "feedstore \(name)"
    }
  }
}

/// A setting that is passed on as text to another component, which validates it.
package struct ConfigurationPair: Sendable, Equatable {
  package let name: String
  package let value: String

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}
