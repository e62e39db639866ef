import Glibc

/// What turns one snapshot into another: the entries of a changeset (protocol, section 4.2).
///
/// Nothing is listed that did not change, unless it was marked; moves are the fewest possible.
/// Deleting a section deletes the items still in it without listing them, an item that leaves it is a
/// move, and an inserted section is empty until inserts and moves fill it. The same two snapshots
/// give the same difference, whatever edits led to them.
public struct SnapshotDifference: Sendable, Hashable {
  /// What happened to sections.
  public var sections: SectionChanges
  /// What happened to items.
  public var items: ItemChanges

  /// Makes a difference; by default one that changes nothing.
  public init(sections: SectionChanges = SectionChanges(), items: ItemChanges = ItemChanges()) {
    self.sections = sections
    self.items = items
  }

  /// Whether nothing has changed.
  public var isEmpty: Bool { sections.isEmpty && items.isEmpty }

  /// How many entries there are.
  public var count: Int { sections.count + items.count }
}

/// The entries of a difference that are about sections.
///
/// Indexes of `deletes` and `from` count in the snapshot that the difference starts from, all others
/// in its result. `deletes` are sorted by the former, all other lists by the latter.
public struct SectionChanges: Sendable, Hashable {
  /// A section that only the first snapshot has.
  public struct Delete: Sendable, Hashable {
    /// Names the section.
    public var id: SectionIdentifier
    /// Where it stood in the first snapshot.
    public var index: Int

    /// Makes an entry.
    public init(id: SectionIdentifier, index: Int) {
      self.id = id
      self.index = index
    }
  }

  /// A section with its place and its data in the result.
  public struct Entry: Sendable, Hashable {
    /// Names the section.
    public var id: SectionIdentifier
    /// Where it stands in the result.
    public var index: Int
    /// Its data in the result.
    public var data: JSONData

    /// Makes an entry.
    public init(id: SectionIdentifier, index: Int, data: JSONData) {
      self.id = id
      self.index = index
      self.data = data
    }
  }

  /// A section that both snapshots have and that stands elsewhere in the result.
  public struct Move: Sendable, Hashable {
    /// Names the section.
    public var id: SectionIdentifier
    /// Where it stood in the first snapshot.
    public var from: Int
    /// Where it stands in the result.
    public var to: Int

    /// Makes an entry.
    public init(id: SectionIdentifier, from: Int, to: Int) {
      self.id = id
      self.from = from
      self.to = to
    }
  }

  /// Sections that only the first snapshot has.
  public var deletes: [Delete] = []
  /// Sections that only the result has.
  public var inserts: [Entry] = []
  /// Sections that changed their place: the fewest that explain the new order.
  public var moves: [Move] = []
  /// Sections whose data changed.
  public var reconfigures: [Entry] = []
  /// Sections that were marked for reloading.
  public var reloads: [Entry] = []

  /// No changes.
  public init() {}

  /// Whether there are no entries.
  public var isEmpty: Bool { count == 0 }

  /// How many entries there are.
  public var count: Int {
    deletes.count + inserts.count + moves.count + reconfigures.count + reloads.count
  }
}

/// The entries of a difference that are about items.
///
/// Positions of `deletes` and `from` count in the snapshot that the difference starts from, all others
/// in its result. `deletes` are sorted by the former, all other lists by the latter: by the order of
/// the sections, then by index.
public struct ItemChanges: Sendable, Hashable {
  /// An item that only the first snapshot has.
  public struct Delete: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stood in the first snapshot.
    public var position: ItemPosition

    /// Makes an entry.
    public init(id: ItemIdentifier, position: ItemPosition) {
      self.id = id
      self.position = position
    }
  }

  /// An item with its place and its content in the result.
  public struct Entry: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stands in the result.
    public var position: ItemPosition
    /// Its kind in the result.
    public var kind: ItemKind
    /// Its data in the result.
    public var data: JSONData

    /// Makes an entry.
    public init(id: ItemIdentifier, position: ItemPosition, kind: ItemKind, data: JSONData) {
      self.id = id
      self.position = position
      self.kind = kind
      self.data = data
    }
  }

  /// An item that both snapshots have and that stands elsewhere in the result.
  public struct Move: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stood in the first snapshot.
    public var from: ItemPosition
    /// Where it stands in the result.
    public var to: ItemPosition

    /// Makes an entry.
    public init(id: ItemIdentifier, from: ItemPosition, to: ItemPosition) {
      self.id = id
      self.from = from
      self.to = to
    }
  }

  /// An item whose kind stayed, with its data in the result.
  public struct Reconfigure: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stands in the result.
    public var position: ItemPosition
    /// Its data in the result.
    public var data: JSONData

    /// Makes an entry.
    public init(id: ItemIdentifier, position: ItemPosition, data: JSONData) {
      self.id = id
      self.position = position
      self.data = data
    }
  }

  /// Items that only the first snapshot has, but for those of a deleted section.
  public var deletes: [Delete] = []
  /// Items that only the result has.
  public var inserts: [Entry] = []
  /// Items that changed their place: the fewest that explain the new order.
  public var moves: [Move] = []
  /// Items whose data alone changed, or that were marked for reconfiguring.
  public var reconfigures: [Reconfigure] = []
  /// Items whose kind changed, or that were marked for reloading.
  public var reloads: [Entry] = []

  /// No changes.
  public init() {}

  /// Whether there are no entries.
  public var isEmpty: Bool { count == 0 }

  /// How many entries there are.
  public var count: Int {
    deletes.count + inserts.count + moves.count + reconfigures.count + reloads.count
  }
}

/// Where an item stands: its section, and its index among that section's items.
public struct ItemPosition: Sendable, Hashable {
  /// The section that the item is in.
  public var section: SectionIdentifier
  /// Counted from 0 within the section.
  public var index: Int

  /// The `index`-th place of a section.
  public init(section: SectionIdentifier, index: Int) {
    self.section = section
    self.index = index
  }
}

// MARK: - Entries of a changeset

extension SectionChanges.Entry {
  init(_ id: ByteSpan, index: Int, _ fields: ElementFields) {
    self.init(id: SectionIdentifier(id), index: index, data: JSONData(checked: fields.data ?? FeedState.null))
  }
}

extension ItemChanges.Entry {
  init(_ id: ByteSpan, _ position: ItemPosition, _ fields: ElementFields) {
    self.init(
      id: ItemIdentifier(id),
      position: position,
      kind: ItemKind(fields.kind ?? .empty),
      data: JSONData(checked: fields.data ?? FeedState.null)
    )
  }
}

extension ItemChanges.Reconfigure {
  init(_ id: ByteSpan, _ position: ItemPosition, _ fields: ElementFields) {
    self.init(
      id: ItemIdentifier(id),
      position: position,
      data: JSONData(checked: fields.data ?? FeedState.null)
    )
  }
}

extension SnapshotDifference {
  /// The entries of a changeset that was applied, with copies of what they name.
  init(_ entries: DecodedEntries) {
    self.init(sections: SectionChanges(entries.sections), items: ItemChanges(entries.items))
  }
}

extension SectionChanges {
  fileprivate init(_ lists: DecodedEntries.Lists) {
    func entry(_ entry: DecodedEntries.Entry) -> Entry {
      Entry(entry.id, index: Int(entry.to), entry.fields)
    }
    deletes = lists.deletes.map { Delete(id: SectionIdentifier($0.id), index: Int($0.from)) }
    inserts = lists.inserts.map(entry)
    moves = lists.moves.map { Move(id: SectionIdentifier($0.id), from: Int($0.from), to: Int($0.to)) }
    reconfigures = lists.reconfigures.map(entry)
    reloads = lists.reloads.map(entry)
  }
}

extension ItemChanges {
  fileprivate init(_ lists: DecodedEntries.Lists) {
    deletes = lists.deletes.map { Delete(id: ItemIdentifier($0.id), position: $0.base) }
    inserts = lists.inserts.map { Entry($0.id, $0.result, $0.fields) }
    moves = lists.moves.map { Move(id: ItemIdentifier($0.id), from: $0.base, to: $0.result) }
    reconfigures = lists.reconfigures.map { Reconfigure($0.id, $0.result, $0.fields) }
    reloads = lists.reloads.map { Entry($0.id, $0.result, $0.fields) }
  }
}

extension DecodedEntries.Entry {
  /// Where it was.
  fileprivate var base: ItemPosition {
    ItemPosition(section: SectionIdentifier(fromSection), index: Int(from))
  }
  /// Where it is.
  fileprivate var result: ItemPosition { ItemPosition(section: SectionIdentifier(toSection), index: Int(to)) }
}

/// Lends a difference's texts to the entries that a state applies, whose spans need an owner.
final class DifferenceBytes {
  private let arena = ScratchArena(capacity: 1024)

  /// The entries of a difference; valid as long as this object lives.
  func entries(of difference: SnapshotDifference) -> DecodedEntries {
    DecodedEntries(sections: lists(difference.sections), items: lists(difference.items))
  }

  private func span(_ text: ByteText) -> ByteSpan {
    text.withBytes { bytes in
      let copy = arena.allocate(bytes.count)
      memcpy(copy, bytes.base, bytes.count)
      return ByteSpan(UnsafePointer(copy), bytes.count)
    }
  }

  /// A position as entries count them; what is out of their range fits no list.
  private func index(_ index: Int) -> Int32 { index < 0 ? Int32.max : Int32(clamping: index) }

  // MARK: Sections

  private func lists(_ changes: SectionChanges) -> DecodedEntries.Lists {
    var lists = DecodedEntries.Lists()
    lists.deletes = changes.deletes.map { entry($0.id, from: $0.index) }
    lists.inserts = changes.inserts.map(entry)
    lists.moves = changes.moves.map { entry($0.id, from: $0.from, to: $0.to) }
    lists.reconfigures = changes.reconfigures.map(entry)
    lists.reloads = changes.reloads.map(entry)
    return lists
  }

  private func entry(_ id: SectionIdentifier, from: Int = -1, to: Int = -1) -> DecodedEntries.Entry {
    DecodedEntries.Entry(id: span(id.text), from: index(from), to: index(to))
  }

  private func entry(_ section: SectionChanges.Entry) -> DecodedEntries.Entry {
    var entry = entry(section.id, to: section.index)
    entry.fields.data = span(section.data.text)
    return entry
  }

  // MARK: Items

  private func lists(_ changes: ItemChanges) -> DecodedEntries.Lists {
    var lists = DecodedEntries.Lists()
    lists.deletes = changes.deletes.map { entry($0.id, from: $0.position) }
    lists.inserts = changes.inserts.map(entry)
    lists.moves = changes.moves.map { entry($0.id, from: $0.from, to: $0.to) }
    lists.reconfigures = changes.reconfigures.map { reconfigure in
      var entry = entry(reconfigure.id, to: reconfigure.position)
      entry.fields.data = span(reconfigure.data.text)
      return entry
    }
    lists.reloads = changes.reloads.map(entry)
    return lists
  }

  private func entry(
    _ id: ItemIdentifier,
    from: ItemPosition? = nil,
    to: ItemPosition? = nil
  ) -> DecodedEntries.Entry {
    var entry = DecodedEntries.Entry(id: span(id.text))
    if let from { (entry.fromSection, entry.from) = (span(from.section.text), index(from.index)) }
    if let to { (entry.toSection, entry.to) = (span(to.section.text), index(to.index)) }
    return entry
  }

  private func entry(_ item: ItemChanges.Entry) -> DecodedEntries.Entry {
    var entry = entry(item.id, to: item.position)
    entry.fields = ElementFields(kind: span(item.kind.text), data: span(item.data.text))
    return entry
  }
}

extension Snapshot {
  /// What turns another snapshot into this one, with the entries that this one's marks ask for.
  ///
  /// A mark adds nothing for what the difference inserts. The other snapshot's marks do not count.
  ///
  /// - Complexity: O(n) for snapshots of n elements, O(n log n) where much has moved. O(1) if both are copies of one snapshot,
  ///   and neither was edited or has marks.
  public func difference(from other: Snapshot) -> SnapshotDifference {
    if storage === other.storage, storage.marks.isEmpty { return SnapshotDifference() }
    return state.difference(from: other.state, marks: storage.marks)
  }

  /// Applies a difference that starts from this snapshot's content. Nothing is marked afterwards: what
  /// the marks asked for was in the difference.
  ///
  /// - Throws: ``SnapshotError/Code/mismatch`` if an entry names what is not there, is there already, or
  ///   stands elsewhere; the snapshot is then as it was.
  /// - Complexity: O(k log n) for k entries and their sections' deleted items.
  public mutating func apply(_ difference: SnapshotDifference) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let bytes = DifferenceBytes()
      let entries = bytes.entries(of: difference)
      do throws(ReplicaFault) {
        try storage.state.apply(entries)
      } catch {
        throw .mismatch(error.message)
      }
      try storage.checkPlaces(of: entries)
      withExtendedLifetime(bytes) {}
      storage.marks = SnapshotMarks()
    }
  }

  /// The result of applying a difference that starts from this snapshot's content.
  ///
  /// - Throws: ``SnapshotError/Code/mismatch`` if an entry names what is not there, is there already, or
  ///   stands elsewhere.
  /// - Complexity: O(n), as the snapshot is copied.
  public func applying(_ difference: SnapshotDifference) throws(SnapshotError) -> Snapshot {
    var result = self
    try result.apply(difference)
    return result
  }
}

extension SnapshotStorage {
  /// Checks that everything that was placed has the position its entry says, which it has not if two
  /// entries name the same place.
  fileprivate func checkPlaces(of entries: DecodedEntries) throws(SnapshotError) {
    for (lists, table) in [(entries.sections, state.sections), (entries.items, state.items)] {
      for entry in lists.inserts + lists.moves {
        guard let handle = table.findPresent(entry.id) else { continue }
        let rank = state.currentRank(handle, table[handle].scope)
        guard rank.number == entry.to else {
          throw .mismatch("\(entry.id.quotedForMessage()) comes to position \(rank), expected \(entry.to)")
        }
      }
    }
  }
}

extension SnapshotError {
  static func mismatch(_ problem: String) -> SnapshotError {
    SnapshotError(
      .mismatch,
      "the difference does not start from this snapshot, take another from it: \(problem)"
    )
  }
}
