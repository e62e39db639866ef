extension Snapshot {
  /// An item with its content, to be appended or inserted.
  public struct Item: Sendable, Hashable {
    public var identifier: ItemIdentifier
    public var kind: ItemKind
    public var data: JSONData

    public init(_ identifier: ItemIdentifier, kind: ItemKind = "", data: JSONData = .null) {
      self.identifier = identifier
      self.kind = kind
      self.data = data
    }
  }
}
