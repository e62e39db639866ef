/// An existing feed: its sections in order.
public struct OracleFeed: Sendable, Equatable {
  /// The position of an item.
  public struct Location: Sendable, Equatable {
    public var section: Int
    public var index: Int
  }

  public var sections: [OracleSection]

  public init(sections: [OracleSection] = []) {
    self.sections = sections
  }

  public var sectionIDs: [[UInt8]] { sections.map(\.id) }
  public var itemIDs: [[UInt8]] { sections.flatMap { $0.items.map(\.id) } }
  public var itemCount: Int { sections.reduce(0) { $0 + $1.items.count } }

  /// All items by their ids.
  public var itemsByID: [[UInt8]: OracleItem] {
    Dictionary(sections.flatMap { $0.items.map { ($0.id, $0) } }) { first, _ in first }
  }

  public func sectionIndex(of id: [UInt8]) -> Int? {
    sections.firstIndex { $0.id == id }
  }

  public func section(_ id: [UInt8]) -> OracleSection? {
    sections.first { $0.id == id }
  }

  public func location(of id: [UInt8]) -> Location? {
    for (number, section) in sections.enumerated() {
      if let index = section.items.firstIndex(where: { $0.id == id }) {
        return Location(section: number, index: index)
      }
    }
    return nil
  }

  public func item(_ id: [UInt8]) -> OracleItem? {
    location(of: id).map { sections[$0.section].items[$0.index] }
  }
}

/// A section of a feed, with its items in order.
public struct OracleSection: Sendable, Equatable {
  public var id: [UInt8]
  /// Minified JSON.
  public var data: [UInt8]
  /// nil if events place the items.
  public var order: OracleSectionOrder?
  /// The maximum number of items after a record; nil for any.
  public var keep: Int?
  /// Milliseconds from the last write to an item's end; nil for ever.
  public var ttl: Int?
  public var items: [OracleItem]

  public init(
    id: [UInt8],
    data: [UInt8] = Array("null".utf8),
    order: OracleSectionOrder? = nil,
    keep: Int? = nil,
    ttl: Int? = nil,
    items: [OracleItem] = []
  ) {
    self.id = id
    self.data = data
    self.order = order
    self.keep = keep
    self.ttl = ttl
    self.items = items
  }

  /// The items in the required order.
  public var orderedItems: [OracleItem] { order?.sorted(items) ?? items }

  /// The number of items beyond the bound.
  public var surplus: Int {
    guard keeps(.boundsKept), order != nil || keeps(.boundWithoutOrder) else { return 0 }
    return max(0, items.count - (keep ?? .max))
  }
}

/// An item of a feed; ids, kinds and data are bytes, and compared as bytes.
public struct OracleItem: Sendable, Equatable {
  public var id: [UInt8]
  public var kind: [UInt8]
  /// Minified JSON, with the contents of the item's references.
  public var data: [UInt8]
  /// Milliseconds since 1970; nil for ever.
  public var expires: Int?
  /// The references in their spelling in changesets; empty for none.
  public var refs: [UInt8]
  /// The data without contents.
  var own: [UInt8]

  public init(
    id: [UInt8],
    kind: [UInt8] = [],
    data: [UInt8] = Array("null".utf8),
    expires: Int? = nil,
    refs: [UInt8] = []
  ) {
    self.id = id
    self.kind = kind
    self.data = data
    self.expires = expires
    self.refs = refs
    own = data
  }

  public static func == (one: OracleItem, other: OracleItem) -> Bool {
    // The own data follows from the rest, and a replica does not know it.
    one.id == other.id && one.kind == other.kind && one.data == other.data && one.expires == other.expires
      && one.refs == other.refs
  }

  /// A new item without other properties.
  static func new(_ id: [UInt8]) -> OracleItem {
    OracleItem(
      id: id,
      kind: keeps(.kindDefaultsToEmpty) ? [] : Array("item".utf8),
      data: Array((keeps(.dataDefaultsToNull) ? "null" : "{}").utf8)
    )
  }
}
