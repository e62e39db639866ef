extension Snapshot {
  // MARK: Appending

  /// Adds items with their content at the end of a section.
  ///
  /// - Parameter section: nil for the last section.
  /// - Throws: ``SnapshotError/Code/unknownSection`` if there is no such section, or
  ///   ``SnapshotError/Code/noSection`` if none is named and there is none;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if an item is there already, in whatever section, or
  ///   is named twice.
  /// - Complexity: O(k log n) for k items.
  public mutating func appendItems(
    _ items: some Sequence<Item>,
    toSection section: SectionIdentifier? = nil
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let scope: Scope
      if let section {
        scope = .items(of: try storage.knownSection(section))
      } else {
        let last = storage.count(.sections) - 1
        guard last >= 0, let handle = storage.state.element(at: Rank(last), .sections) else {
          throw .noSection
        }
        scope = .items(of: handle)
      }
      try storage.insert(items, scope, at: Rank(storage.count(scope)))
    }
  }

  /// Adds items without kind and with null data at the end of a section.
  ///
  /// - Parameter section: nil for the last section.
  /// - Throws: ``SnapshotError/Code/unknownSection`` if there is no such section, or
  ///   ``SnapshotError/Code/noSection`` if none is named and there is none;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if an item is there already, in whatever section, or
  ///   is named twice.
  /// - Complexity: O(k log n) for k items.
  public mutating func appendItems(
    _ identifiers: [ItemIdentifier],
    toSection section: SectionIdentifier? = nil
  ) throws(SnapshotError) {
    try appendItems(identifiers.lazy.map { Item($0) }, toSection: section)
  }

  // MARK: Inserting

  /// Adds items with their content before another item, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if there is no such item to insert before;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k items.
  public mutating func insertItems(
    _ items: some Sequence<Item>,
    beforeItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(items, next: anchor, isAfter: false)
  }

  /// Adds items without kind and with null data before another item, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if there is no such item to insert before;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k items.
  public mutating func insertItems(
    _ identifiers: [ItemIdentifier],
    beforeItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(identifiers.lazy.map { Item($0) }, next: anchor, isAfter: false)
  }

  /// Adds items with their content after another item, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if there is no such item to insert after;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k items.
  public mutating func insertItems(
    _ items: some Sequence<Item>,
    afterItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(items, next: anchor, isAfter: true)
  }

  /// Adds items without kind and with null data after another item, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if there is no such item to insert after;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k items.
  public mutating func insertItems(
    _ identifiers: [ItemIdentifier],
    afterItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(identifiers.lazy.map { Item($0) }, next: anchor, isAfter: true)
  }

  private mutating func insert(
    _ items: some Sequence<Item>,
    next anchor: ItemIdentifier,
    isAfter: Bool
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let handle = try storage.knownItem(anchor)
      let scope = storage.state.items[handle].scope
      try storage.insert(items, scope, at: storage.state.currentRank(handle, scope) + (isAfter ? 1 : 0))
    }
  }

  // MARK: Deleting

  /// Removes items. As in UIKit, unknown items are ignored.
  ///
  /// - Complexity: O(k log n) for k items.
  public mutating func deleteItems(_ identifiers: [ItemIdentifier]) {
    edit { storage in
      for identifier in identifiers {
        if let handle = storage.item(identifier) { storage.delete(item: handle) }
      }
    }
  }

  // MARK: Moving

  /// Moves an item before another, into that one's section.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if either is not there;
  ///   ``SnapshotError/Code/selfMove`` if both are the same.
  /// - Complexity: O(log n).
  public mutating func moveItem(
    _ item: ItemIdentifier,
    beforeItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try move(item, to: anchor, isAfter: false)
  }

  /// Moves an item after another, into that one's section.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if either is not there;
  ///   ``SnapshotError/Code/selfMove`` if both are the same.
  /// - Complexity: O(log n).
  public mutating func moveItem(
    _ item: ItemIdentifier,
    afterItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try move(item, to: anchor, isAfter: true)
  }

  private mutating func move(
    _ item: ItemIdentifier,
    to anchor: ItemIdentifier,
    isAfter: Bool
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let handle = try storage.knownItem(item)
      let anchorHandle = try storage.knownItem(anchor)
      guard handle != anchorHandle else { throw .selfMove("item", item.text) }
      storage.move(handle, to: anchorHandle, isAfter: isAfter, isItem: true)
    }
  }
}

extension SnapshotStorage {
  /// Inserts new items one after the other.
  fileprivate func insert(
    _ items: some Sequence<Snapshot.Item>,
    _ scope: Scope,
    at rank: Rank
  ) throws(SnapshotError) {
    var rank = rank
    for item in items {
      let handle = try makeItem(item.identifier)
      setContent(handle, kind: item.kind, data: item.data)
      state.attach(handle, scope, at: rank)
      rank += 1
    }
  }
}
