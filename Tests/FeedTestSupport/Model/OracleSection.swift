/// A section of a feed, with its items in order.
public struct OracleSection: Sendable, Equatable {
  public var id: [UInt8]
  /// Minified JSON.
  public var data: [UInt8]
  public var items: [OracleItem]

  public init(id: [UInt8], data: [UInt8] = Array("null".utf8), items: [OracleItem] = []) {
    self.id = id
    self.data = data
    self.items = items
  }
}
