extension Snapshot {
  /// An item with its content, to be appended or inserted.
  public struct Item: Sendable, Hashable {
    /// Names the item within the feed.
    public var identifier: ItemIdentifier
    /// What it is rendered with.
    public var kind: ItemKind
    /// What it is rendered from.
    public var data: JSONData

    /// Makes an item; by default without kind and with null data.
    public init(_ identifier: ItemIdentifier, kind: ItemKind = "", data: JSONData = .null) {
      self.identifier = identifier
      self.kind = kind
      self.data = data
    }
  }
}
