/// One setting: a value and where it comes from.
public struct ConfigurationEntry: Sendable, Equatable {
  /// The value, with references replaced by what they stand for.
  public let value: ConfigurationValue
  public let source: ConfigurationSource
  /// What was written after `KEY=` on a command line, or is in an environment variable or behind a reference; nil for
  /// what a file says itself.
  let spelling: String?
  /// The text as it was written, if it has references; it can be shown where the value cannot.
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

  /// A value that comes as text without quotes: a number, `true` and `false` are what they look like, and all else is
  /// text. As text is wanted, its spelling counts.
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

  /// Where it was set, for error messages: `feedstore.json5:12` or `--set`.
  public var place: String { source.description }

  /// The value where text is wanted that need not be quoted.
  ///
  /// On a command line `--set name=007` means the text `007`: there the spelling counts, unless it is quoted.
  var unquotedText: String? {
    switch value {
    case .string(let text): text
    case .object: nil
    default: spelling ?? value.text
    }
  }

  /// The value where a string is wanted: a file must quote it, a command line need not.
  var string: String? {
    if case .string(let text) = value { return text }
    return spelling == nil ? nil : unquotedText
  }

  /// How error messages show the value.
  func shown(isMasked: Bool) -> String {
    if let reference {
      return isMasked && !ConfigurationReferences.isOne(reference) ? Self.masked : reference
    }
    return isMasked && value != .string("") ? Self.masked : value.description
  }

  static let masked = "(not shown)"
  private static let longestNumber = 64
}
