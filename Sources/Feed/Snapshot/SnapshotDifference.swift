import Glibc

/// The changes from one snapshot to another: the entries of a changeset (protocol, section 4.2).
///
/// Moves are the fewest possible. A deleted section's remaining items are deleted without entries; an item
/// that leaves it is a move. An inserted section is empty until inserts and moves fill it.
public struct SnapshotDifference: Sendable, Hashable {
  /// The changes of sections.
  public var sections = SectionChanges()
  /// The changes of items.
  public var items = ItemChanges()

  /// Whether nothing has changed.
  public var isEmpty: Bool { sections.isEmpty && items.isEmpty }

  /// The number of entries.
  public var count: Int { sections.count + items.count }
}

/// The entries of a difference for sections, or those for items.
///
/// Positions of `deletes` and `from` refer to the first snapshot, all others to the result. `deletes` are
/// sorted by the former, all other lists by the latter.
public struct ElementChanges<ID: Sendable & Hashable, Position: Sendable & Hashable>: Sendable, Hashable {
  /// An element that only the first snapshot has.
  public struct Delete: Sendable, Hashable {
    /// Names the element.
    public var id: ID
    /// Its position in the first snapshot.
    public var position: Position
  }

  /// An element with its position and its content in the result.
  public struct Entry: Sendable, Hashable {
    /// Names the element.
    public var id: ID
    /// Its position in the result.
    public var position: Position
    /// Its kind in the result, for inserted and reloaded items.
    public var kind: ItemKind?
    /// Its data in the result.
    public var data: JSONData
    /// A section's order in the result, in its spelling in changesets; nil for given positions.
    public var order: JSONData?
    /// The maximum number of a section's items; nil for no limit.
    public var keep: Int?
    /// How long a section's items last after they were written, in milliseconds; nil for ever.
    public var ttl: Int?
    /// When an item ends, in milliseconds since 1970; nil if it does not.
    public var expires: Int64?
    /// An item's references, in their spelling in changesets; nil for none. The data includes their contents.
    public var references: JSONData?
  }

  /// An element of both snapshots with another position in the result.
  public struct Move: Sendable, Hashable {
    /// Names the element.
    public var id: ID
    /// Its position in the first snapshot.
    public var from: Position
    /// Its position in the result.
    public var to: Position
  }

  /// Elements that only the first snapshot has, without the items of a deleted section.
  public var deletes: [Delete] = []
  /// Elements that only the result has.
  public var inserts: [Entry] = []
  /// Elements with a new position: the fewest that explain the new order.
  public var moves: [Move] = []
  /// Elements of which only the data changed, and items that an event asked to reconfigure.
  public var reconfigures: [Entry] = []
  /// Items whose kind changed, and elements that an event asked to reload.
  public var reloads: [Entry] = []

  /// Whether there are no entries.
  public var isEmpty: Bool { count == 0 }

  /// The number of entries.
  public var count: Int {
    deletes.count + inserts.count + moves.count + reconfigures.count + reloads.count
  }
}

/// Entries for sections, with their indexes as positions.
public typealias SectionChanges = ElementChanges<SectionIdentifier, Int>

/// Entries for items.
public typealias ItemChanges = ElementChanges<ItemIdentifier, ItemPosition>

/// The position of an item: its section, and its index among the section's items.
public struct ItemPosition: Sendable, Hashable {
  /// The item's section.
  public var section: SectionIdentifier
  /// The index within the section, from 0.
  public var index: Int

  /// The `index`-th position of a section.
  public init(section: SectionIdentifier, index: Int) {
    self.section = section
    self.index = index
  }
}

// MARK: - Entries of a changeset

extension SnapshotDifference {
  /// The entries of a changeset, with copies of its texts.
  init(_ entries: DecodedEntries) {
    sections = SectionChanges(entries.sections, SectionIdentifier.init) { _, index in Int(index) }
    items = ItemChanges(entries.items, ItemIdentifier.init) { section, index in
      ItemPosition(section: SectionIdentifier(section), index: Int(index))
    }
  }
}

extension ElementChanges {
  fileprivate init(
    _ lists: DecodedEntries.Lists,
    _ identifier: (ByteSpan) -> ID,
    _ position: (ByteSpan, Int32) -> Position
  ) {
    let isItem = ID.self == ItemIdentifier.self
    /// The order of a section, or the references of an item.
    func setting(_ entry: DecodedEntries.Entry) -> JSONData? {
      entry.fields.order.flatMap { $0.isEmpty ? nil : JSONData(checked: $0) }
    }
    func entry(_ entry: DecodedEntries.Entry) -> Entry {
      let lifetime = entry.fields.lifetime.number
      return Entry(
        id: identifier(entry.id),
        position: position(entry.toSection, entry.to),
        kind: entry.fields.kind.map { ItemKind($0) },
        data: JSONData(checked: entry.fields.data ?? FeedState.null),
        order: isItem ? nil : setting(entry),
        keep: entry.fields.keep.number.map { Int($0) },
        ttl: isItem ? nil : lifetime.map { Int($0) },
        expires: isItem ? lifetime : nil,
        references: isItem ? setting(entry) : nil
      )
    }
    deletes = lists[.delete].map {
      Delete(id: identifier($0.id), position: position($0.fromSection, $0.from))
    }
    inserts = lists[.insert].map(entry)
    moves = lists[.move].map {
      Move(id: identifier($0.id), from: position($0.fromSection, $0.from), to: position($0.toSection, $0.to))
    }
    reconfigures = lists[.reconfigure].map(entry)
    reloads = lists[.reload].map(entry)
  }
}

/// Lends a difference's texts to the entries that a state applies, whose spans need an owner.
final class DifferenceBytes {
  private let arena = ScratchArena(capacity: 1024)

  /// The entries of a difference; valid as long as this object lives.
  func entries(of difference: SnapshotDifference) -> DecodedEntries {
    DecodedEntries(
      sections: lists(difference.sections, \.text) { (.empty, $0) },
      items: lists(difference.items, \.text) { (span($0.section.text), $0.index) }
    )
  }

  private func span(_ text: ByteText) -> ByteSpan {
    text.withBytes { bytes in
      let copy = arena.allocate(bytes.count)
      memcpy(copy, bytes.base, bytes.count)
      return ByteSpan(UnsafePointer(copy), bytes.count)
    }
  }

  /// A position for entries; an index outside of their range fits no list.
  private func index(_ index: Int) -> Int32 { index < 0 ? Int32.max : Int32(clamping: index) }

  private func lists<ID, Position>(
    _ changes: ElementChanges<ID, Position>,
    _ text: (ID) -> ByteText,
    _ place: (Position) -> (section: ByteSpan, index: Int)
  ) -> DecodedEntries.Lists {
    func entry(_ id: ID, from: Position? = nil, to: Position? = nil) -> DecodedEntries.Entry {
      var entry = DecodedEntries.Entry(id: span(text(id)))
      if let from = from.map(place) { (entry.fromSection, entry.from) = (from.section, index(from.index)) }
      if let to = to.map(place) { (entry.toSection, entry.to) = (to.section, index(to.index)) }
      return entry
    }
    func withContent(_ change: ElementChanges<ID, Position>.Entry) -> DecodedEntries.Entry {
      var entry = entry(change.id, to: change.position)
      entry.fields = ElementFields(
        kind: change.kind.map { span($0.text) },
        data: span(change.data.text),
        order: change.order.map { span($0.text) },
        keep: change.keep.map { NumberField(Int64($0)) } ?? .absent,
        lifetime: (change.expires ?? change.ttl.map { Int64($0) }).map { NumberField($0) } ?? .absent,
        refs: change.references.map { span($0.text) }.flatMap { References.areValid($0) ? $0 : nil }
      )
      entry.fields.complete(isItem: ID.self == ItemIdentifier.self)
      return entry
    }
    var lists = DecodedEntries.Lists()
    lists[.delete] = changes.deletes.map { entry($0.id, from: $0.position) }
    lists[.insert] = changes.inserts.map(withContent)
    lists[.move] = changes.moves.map { entry($0.id, from: $0.from, to: $0.to) }
    lists[.reconfigure] = changes.reconfigures.map(withContent)
    lists[.reload] = changes.reloads.map(withContent)
    return lists
  }
}
