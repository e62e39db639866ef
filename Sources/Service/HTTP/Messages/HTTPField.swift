/// A name and a value: a header field, or one part of a query.
public struct HTTPField: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
