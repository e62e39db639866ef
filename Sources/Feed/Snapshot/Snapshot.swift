/// The content of a feed at one moment: its sections, their items, and the order of both.
///
/// The vocabulary and the rules are those of UIKit's `NSDiffableDataSourceSnapshot`, with content
/// beside the identifiers: an item has a kind and data, a section has data. Where UIKit raises an
/// exception, a snapshot throws a ``SnapshotError``.
///
/// A snapshot is a value. Copies share their storage until one of them is edited, which then copies
/// it, in O(n) for a snapshot of n elements. An edit of storage that is not shared takes O(log n) for
/// each element it names. Edits are all or nothing: one that throws leaves the snapshot as it was.
///
/// ```swift
/// var snapshot = Snapshot()
/// try snapshot.appendSections(["top", "new"])
/// try snapshot.appendItems(["a", "b"], toSection: "top")
/// try snapshot.appendItems([Snapshot.Item("c", kind: "story")], toSection: "new")
/// let before = snapshot
/// try snapshot.moveItem("c", beforeItem: "b")
/// let difference = snapshot.difference(from: before)  // one move
/// ```
public struct Snapshot: Sendable {
  private(set) var storage: SnapshotStorage

  /// A snapshot without sections and items.
  public init() { storage = SnapshotStorage(FeedState()) }

  /// The current content of a state. O(n).
  init(copying state: FeedState) { storage = SnapshotStorage(state.copyOfCurrent()) }

  /// A snapshot of a state that another owner shares, and copies before changing it.
  init(sharing storage: SnapshotStorage) { self.storage = storage }

  var state: FeedState { storage.state }

  /// Edits storage of its own, all or nothing. The body changes marks only once it cannot fail
  /// any more.
  mutating func edit<Failure: Error>(
    _ body: (SnapshotStorage) throws(Failure) -> Void
  ) throws(Failure) {
    if !isKnownUniquelyReferenced(&storage) { storage = storage.copy() }
    do throws(Failure) {
      try body(storage)
    } catch {
      storage.state.rollBack()
      throw error
    }
    storage.state.confirm()
  }

  /// Whether both have the same sections and items in the same order with the same content. What is
  /// marked for reloading or reconfiguring is not compared. O(n).
  public func hasSameContent(as other: Snapshot) -> Bool {
    storage === other.storage
      || state.totals == other.state.totals && state.difference(from: other.state).isEmpty
  }

  /// Removes all sections and items, as UIKit does. O(1) if the storage is shared, otherwise O(n).
  public mutating func deleteAllItems() { storage = SnapshotStorage(FeedState()) }
}

extension Snapshot {
  /// A section, as what a ``SectionIdentifier`` names.
  public enum Section {}

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

extension PublishedFeed {
  /// The feed's content now, changes that are not published yet included. O(n).
  public func snapshot() -> Snapshot { Snapshot(copying: state) }
}

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
    Int(storage.count(.items(of: try storage.known(section))))
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
    state.currentHandles(.items(of: try storage.known(section))).map(storage.itemIdentifier)
  }

  // MARK: Positions

  /// Where a section stands among the sections; nil if there is no such section. O(log s) for
  /// s sections.
  public func indexOfSection(_ section: SectionIdentifier) -> Int? {
    storage.find(section).map { Int(state.currentRank($0, .sections).number) }
  }

  /// Where an item stands in the whole snapshot, counted through all sections as UIKit does; nil if
  /// there is no such item. O(log n + s) for s sections; ``position(ofItem:)`` needs no walk over them.
  public func indexOfItem(_ item: ItemIdentifier) -> Int? {
    guard let handle = storage.find(item) else { return nil }
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
    guard let handle = storage.find(item) else { return nil }
    let scope = state.items[handle].scope
    return ItemPosition(
      section: storage.sectionIdentifier(scope.section),
      index: Int(state.currentRank(handle, scope).number)
    )
  }

  /// The section an item is in; nil if there is no such item. O(1).
  public func sectionIdentifier(containingItem item: ItemIdentifier) -> SectionIdentifier? {
    storage.find(item).map { storage.sectionIdentifier(state.items[$0].scope.section) }
  }

  // MARK: Content

  /// An item's kind; nil if there is no such item. O(1).
  public func kind(ofItem item: ItemIdentifier) -> ItemKind? {
    storage.find(item).map { ItemKind(state.kind($0)) }
  }

  /// An item's data; nil if there is no such item. O(1), but for the copy.
  public func data(ofItem item: ItemIdentifier) -> JSONData? {
    storage.find(item).map { JSONData(checked: state.items[$0].data) }
  }

  /// A section's data; nil if there is no such section. O(1), but for the copy.
  public func data(ofSection section: SectionIdentifier) -> JSONData? {
    storage.find(section).map { JSONData(checked: state.sections[$0].data) }
  }

  /// The checksum over identifiers, kinds and order that a changeset carries (protocol, section 4.3).
  /// O(1), as edits keep it.
  public var checksum: UInt32 { state.totals.checksum }
}

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
      storage.setContent(try storage.known(item), kind: kind, data: data)
    }
  }

  /// Gives an item another kind; its data stays.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``.
  /// - Complexity: O(log n), and the bytes of the content.
  public mutating func setKind(_ kind: ItemKind, ofItem item: ItemIdentifier) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      storage.setContent(try storage.known(item), kind: kind, data: nil)
    }
  }

  /// Gives an item other data; its kind stays.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``.
  /// - Complexity: O(log n), and the bytes of the content.
  public mutating func setData(_ data: JSONData, ofItem item: ItemIdentifier) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      storage.setContent(try storage.known(item), kind: nil, data: data)
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
      let handle = try storage.known(section)
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
    try mark(identifiers) { $0.reload($1) }
  }

  /// Asks for a reconfigure entry for each of the items in the next difference, even if nothing about
  /// them changes. An item that is marked for reloading stays so.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem``, where UIKit raises.
  /// - Complexity: O(k) for k items.
  public mutating func reconfigureItems(_ identifiers: [ItemIdentifier]) throws(SnapshotError) {
    try mark(identifiers) { $0.reconfigure($1) }
  }

  private mutating func mark<Element>(
    _ identifiers: [ElementIdentifier<Element>],
    _ body: (inout SnapshotMarks, ElementIdentifier<Element>) -> Void
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      for identifier in identifiers { _ = try storage.known(identifier) }
      for identifier in identifiers { body(&storage.marks, identifier) }
    }
  }

  /// Asks for a reload entry for each of the sections in the next difference, even if nothing about
  /// them changes. It says nothing of the sections' items.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection``, where UIKit raises.
  /// - Complexity: O(k) for k sections.
  public mutating func reloadSections(_ identifiers: [SectionIdentifier]) throws(SnapshotError) {
    try mark(identifiers) { $0.reloadedSections.insert($1) }
  }

  /// The items marked for reloading, in the snapshot's order. O(m log n) for m marks.
  public var reloadedItemIdentifiers: [ItemIdentifier] { inOrder(storage.marks.reloadedItems) }

  /// The items marked for reconfiguring, in the snapshot's order. O(m log n) for m marks.
  public var reconfiguredItemIdentifiers: [ItemIdentifier] { inOrder(storage.marks.reconfiguredItems) }

  /// The sections marked for reloading, in order. O(m log s) for m marks and s sections.
  public var reloadedSectionIdentifiers: [SectionIdentifier] {
    storage.marks.reloadedSections.map { (index: indexOfSection($0) ?? 0, identifier: $0) }
      .sorted { $0.index < $1.index }
      .map(\.identifier)
  }

  private func inOrder(_ items: Set<ItemIdentifier>) -> [ItemIdentifier] {
    items.compactMap { item in
      storage.find(item).map { handle in
        let scope = state.items[handle].scope
        let section = state.currentRank(scope.section, .sections)
        return (item: item, rank: (section.number, state.currentRank(handle, scope).number))
      }
    }
    .sorted { $0.rank < $1.rank }
    .map(\.item)
  }
}

extension SnapshotStorage {
  /// Gives an item content; nil keeps what it has.
  func setContent(_ handle: ElementHandle, kind: ItemKind?, data: JSONData?) {
    func withBytes(_ text: ByteText?, _ body: (ByteSpan?) -> Void) {
      if let text { text.withBytes(body) } else { body(nil) }
    }
    withBytes(kind?.text) { kind in
      withBytes(data?.text) { data in
        state.change(
          handle,
          ElementFields(kind: kind, data: data),
          staysInSection: state.items[handle].isPresent
        )
      }
    }
  }
}
