/// An item of a feed; ids, kinds and data are bytes, and compared as bytes.
public struct OracleItem: Sendable, Equatable {
  public var id: [UInt8]
  public var kind: [UInt8]
  /// Minified JSON.
  public var data: [UInt8]

  public init(id: [UInt8], kind: [UInt8] = [], data: [UInt8] = Array("null".utf8)) {
    self.id = id
    self.kind = kind
    self.data = data
  }

  /// A new item of which nothing else is said.
  static func new(_ id: [UInt8]) -> OracleItem {
    OracleItem(
      id: id,
      kind: keeps(.kindDefaultsToEmpty) ? [] : Array("item".utf8),
      data: Array((keeps(.dataDefaultsToNull) ? "null" : "{}").utf8)
    )
  }
}
