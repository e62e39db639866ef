/// One header of a record, copied.
public struct Header: Sendable, Hashable {
  public var name: String
  /// The bytes of the value; nil for a null.
  public var value: [UInt8]?

  public init(name: String, value: [UInt8]?) {
    self.name = name
    self.value = value
  }
}
