extension Snapshot {
  // MARK: Counts

  /// How many items there are in all sections. O(1).
  public var numberOfItems: Int { state.totals.itemCount }

  /// How many sections there are. O(1).
  public var numberOfSections: Int { state.sectionCount }

  /// How many items a section has. O(1).
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection``.
  public func numberOfItems(inSection section: SectionIdentifier) throws(SnapshotError) -> Int {
    Int(storage.count(.items(of: try storage.knownSection(section))))
  }

  // MARK: Identifiers

  /// The sections in order. O(s) for s sections.
  public var sectionIdentifiers: [SectionIdentifier] {
    state.currentHandles(.sections).map(storage.sectionIdentifier)
  }

  /// The items of all sections in order. O(n).
  public var itemIdentifiers: [ItemIdentifier] {
    var identifiers: [ItemIdentifier] = []
    identifiers.reserveCapacity(numberOfItems)
    for section in state.currentHandles(.sections) {
      identifiers += state.currentHandles(.items(of: section)).lazy.map(storage.itemIdentifier)
    }
    return identifiers
  }

  /// The items of a section in order. O(m) for m items.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection``.
  public func itemIdentifiers(
    inSection section: SectionIdentifier
  ) throws(SnapshotError) -> [ItemIdentifier] {
    state.currentHandles(.items(of: try storage.knownSection(section))).map(storage.itemIdentifier)
  }

  // MARK: Positions

  /// Where a section stands among the sections; nil if there is no such section. O(log s) for
  /// s sections.
  public func indexOfSection(_ section: SectionIdentifier) -> Int? {
    storage.section(section).map { Int(state.currentRank($0, .sections).number) }
  }

  /// Where an item stands in the whole snapshot, counted through all sections as UIKit does; nil if
  /// there is no such item. O(log n + s) for s sections; ``position(ofItem:)`` needs no walk over them.
  public func indexOfItem(_ item: ItemIdentifier) -> Int? {
    guard let handle = storage.item(item) else { return nil }
    let scope = state.items[handle].scope
    var index = Int(state.currentRank(handle, scope).number)
    var before = CurrentCursor(state.list(.sections).pointee.tree)
    while let other = before.peek(), other != scope.section {
      index += Int(storage.count(.items(of: other)))
      before.advance()
    }
    return index
  }

  /// The section an item is in and where it stands there; nil if there is no such item. O(log n).
  public func position(ofItem item: ItemIdentifier) -> ItemPosition? {
    guard let handle = storage.item(item) else { return nil }
    let scope = state.items[handle].scope
    return ItemPosition(
      section: storage.sectionIdentifier(scope.section),
      index: Int(state.currentRank(handle, scope).number)
    )
  }

  /// The section an item is in; nil if there is no such item. O(1).
  public func sectionIdentifier(containingItem item: ItemIdentifier) -> SectionIdentifier? {
    storage.item(item).map { storage.sectionIdentifier(state.items[$0].scope.section) }
  }

  // MARK: Content

  /// An item's kind; nil if there is no such item. O(1).
  public func kind(ofItem item: ItemIdentifier) -> ItemKind? {
    storage.item(item).map { ItemKind(state.kind($0)) }
  }

  /// An item's data; nil if there is no such item. O(1), but for the copy.
  public func data(ofItem item: ItemIdentifier) -> JSONData? {
    storage.item(item).map { JSONData(checked: state.items[$0].data) }
  }

  /// A section's data; nil if there is no such section. O(1), but for the copy.
  public func data(ofSection section: SectionIdentifier) -> JSONData? {
    storage.section(section).map { JSONData(checked: state.sections[$0].data) }
  }

  /// The checksum over identifiers, kinds and order that a changeset carries (protocol, section 4.3).
  /// O(1), as edits keep it.
  public var checksum: UInt32 { state.totals.checksum }
}
