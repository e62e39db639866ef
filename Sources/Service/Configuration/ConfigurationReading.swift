/// The effective value of one key, and its source.
public struct ConfigurationReading: Sendable, Equatable {
  public let key: String
  /// The value, in the key's unit if it has one.
  public let value: ConfigurationValue
  /// The unit of a number; nil for other values.
  public let unit: ConfigurationUnit?
  public let source: ConfigurationSource
  /// Whether the value is hidden in messages and listings.
  public let isMasked: Bool
  /// The reference that provides the whole value, as written; nil if there is none.
  public let reference: String?

  /// The value for display. A hidden value is shown as its reference, if it has one.
  public var shown: String {
    if isMasked, value != .string("") { return reference ?? ConfigurationEntry.masked }
    if case .number(let number) = value { return AllowedText.text(number) }
    return value.description
  }
}
