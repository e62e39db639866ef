/// What was read of one key: its value as it takes effect, and where it comes from.
public struct ConfigurationReading: Sendable, Equatable {
  public let key: String
  /// In the key's unit, if it has one.
  public let value: ConfigurationValue
  /// What a number counts; nil for everything else.
  public let unit: ConfigurationUnit?
  public let source: ConfigurationSource
  /// Whether the value is left out of messages and listings.
  public let isMasked: Bool
  /// The reference that stands for the whole value, as it was written; nil if none does.
  public let reference: String?

  /// The value for people; what is masked is shown by its reference, if it has one.
  public var shown: String {
    if isMasked, value != .string("") { return reference ?? ConfigurationEntry.masked }
    if case .number(let number) = value { return AllowedText.text(number) }
    return value.description
  }
}
