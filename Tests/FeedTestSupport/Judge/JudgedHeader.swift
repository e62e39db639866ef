/// A header of an output record.
public struct JudgedHeader: Sendable, Equatable {
  public var name: String
  public var value: [UInt8]

  public init(_ name: String, _ value: [UInt8]) {
    self.name = name
    self.value = value
  }

  public init(_ name: String, _ value: String) {
    self.init(name, Array(value.utf8))
  }
}
