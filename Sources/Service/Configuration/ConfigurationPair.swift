/// A setting that is passed on as text to another component, which validates it.
public struct ConfigurationPair: Sendable, Equatable {
  public let name: String
  public let value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}
