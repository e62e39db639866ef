/// One setting: a value and where it comes from.
public struct ConfigurationEntry: Sendable, Equatable {
  /// The value.
  public let value: ConfigurationValue
  /// Where it was set, for error messages: `feedstore.json5:12` or `--set`.
  public let place: String
  /// What was written after `KEY=` on a command line; nil for what a file says.
  let spelling: String?

  init(value: ConfigurationValue, place: String, spelling: String? = nil) {
    self.value = value
    self.place = place
    self.spelling = spelling
  }

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
}
