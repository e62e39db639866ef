extension Snapshot {
  // MARK: Setting

  /// Gives an item another kind and other data. The next difference has a reload for another kind,
  /// and a reconfigure for other data alone.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``.
  /// - Complexity: O(log n), and the bytes of the content.
  public mutating func setContent(
    ofItem item: ItemIdentifier,
    kind: ItemKind,
    data: JSONData
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      storage.setContent(try storage.knownItem(item), kind: kind, data: data)
    }
  }

  /// Gives an item another kind; its data stays.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``.
  /// - Complexity: O(log n), and the bytes of the content.
  public mutating func setKind(_ kind: ItemKind, ofItem item: ItemIdentifier) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      storage.setContent(try storage.knownItem(item), kind: kind, data: nil)
    }
  }

  /// Gives an item other data; its kind stays.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``.
  /// - Complexity: O(log n), and the bytes of the content.
  public mutating func setData(_ data: JSONData, ofItem item: ItemIdentifier) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      storage.setContent(try storage.knownItem(item), kind: nil, data: data)
    }
  }

  /// Gives a section other data.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection``.
  /// - Complexity: O(log n), and the bytes of the data.
  public mutating func setData(
    _ data: JSONData,
    ofSection section: SectionIdentifier
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let handle = try storage.knownSection(section)
      data.text.withBytes { storage.state.setContent(section: handle, ElementFields(data: $0)) }
    }
  }

  // MARK: Marking

  /// Asks for a reload entry for each of the items in the next difference, even if nothing about them
  /// changes. A reload replaces a reconfigure. Deleting an item forgets its mark.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``, where UIKit raises.
  /// - Complexity: O(k) for k items.
  public mutating func reloadItems(_ identifiers: [ItemIdentifier]) throws(SnapshotError) {
    try mark(identifiers) { $0.reload(item: $1) }
  }

  /// Asks for a reconfigure entry for each of the items in the next difference, even if nothing about
  /// them changes. An item that is marked for reloading stays so.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``, where UIKit raises.
  /// - Complexity: O(k) for k items.
  public mutating func reconfigureItems(_ identifiers: [ItemIdentifier]) throws(SnapshotError) {
    try mark(identifiers) { $0.reconfigure(item: $1) }
  }

  private mutating func mark(
    _ identifiers: [ItemIdentifier],
    _ body: (inout SnapshotMarks, ElementHandle) -> Void
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      var handles: [ElementHandle] = []
      for identifier in identifiers { handles.append(try storage.knownItem(identifier)) }
      for handle in handles { body(&storage.marks, handle) }
    }
  }

  /// Asks for a reload entry for each of the sections in the next difference, even if nothing about
  /// them changes. It says nothing of the sections' items.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection``, where UIKit raises.
  /// - Complexity: O(k) for k sections.
  public mutating func reloadSections(_ identifiers: [SectionIdentifier]) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      var handles: [ElementHandle] = []
      for identifier in identifiers { handles.append(try storage.knownSection(identifier)) }
      for handle in handles { storage.marks.reload(section: handle) }
    }
  }

  /// The items marked for reloading, in the snapshot's order. O(m log n + s) for m marks and s sections.
  public var reloadedItemIdentifiers: [ItemIdentifier] { inOrder(storage.marks.reloadedItems) }

  /// The items marked for reconfiguring, in the snapshot's order. O(m log n + s) for m marks and
  /// s sections.
  public var reconfiguredItemIdentifiers: [ItemIdentifier] { inOrder(storage.marks.reconfiguredItems) }

  /// The sections marked for reloading, in order. O(m log s) for m marks and s sections.
  public var reloadedSectionIdentifiers: [SectionIdentifier] {
    storage.marks.reloadedSections
      .map { (rank: state.currentRank($0, .sections), handle: $0) }
      .sorted { $0.rank < $1.rank }
      .map { storage.sectionIdentifier($0.handle) }
  }

  private func inOrder(_ items: Set<ElementHandle>) -> [ItemIdentifier] {
    var bySection: [ElementHandle: [ElementHandle]] = [:]
    for item in items { bySection[state.items[item].scope.section, default: []].append(item) }
    return
      bySection
      .map { section, items in
        (rank: state.currentRank(section, .sections), section: section, items: items)
      }
      .sorted { $0.rank < $1.rank }
      .flatMap { _, section, items in
        items.map { (rank: state.currentRank($0, .items(of: section)), handle: $0) }.sorted {
          $0.rank < $1.rank
        }
      }
      .map { storage.itemIdentifier($0.handle) }
  }
}

extension SnapshotStorage {
  /// Gives an item content; nil keeps what it has.
  func setContent(_ handle: ElementHandle, kind: ItemKind?, data: JSONData?) {
    func withBytes(_ text: ByteText?, _ body: (ByteSpan?) -> Void) {
      if let text { text.withBytes(body) } else { body(nil) }
    }
    withBytes(kind?.text) { kind in
      withBytes(data?.text) { data in state.setContent(item: handle, ElementFields(kind: kind, data: data)) }
    }
  }
}
