/// One setting: a value and its source.
public struct ConfigurationEntry: Sendable, Equatable {
  /// The value, with references resolved.
  public let value: ConfigurationValue
  public let source: ConfigurationSource
  /// The literal text after `KEY=` on a command line, in an environment variable, or behind a reference; nil for values
  /// of a file.
  let spelling: String?
  /// The text as written, if it has references. It can be shown even if the value is secret.
  let reference: String?

  init(
    value: ConfigurationValue,
    source: ConfigurationSource,
    spelling: String? = nil,
    reference: String? = nil
  ) {
    self.value = value
    self.source = source
    self.spelling = spelling
    self.reference = reference
  }

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

  /// The source of the setting, for error messages: `feedstore.json5:12` or `--set`.
  public var place: String { source.description }

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
