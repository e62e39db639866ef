/// What the copies of a snapshot share: a feed's state, and the marks for the next difference.
///
/// Between edits nothing in the state counts as changed since it was published: an edit ends with
/// `confirm`, or with `rollBack` where it fails. Reading therefore writes nothing, and storage that
/// several snapshots share, perhaps in several threads, is only read: an edit first makes sure
/// that the storage is the snapshot's own. That is why it may be called `Sendable`.
final class SnapshotStorage: @unchecked Sendable {
  let state: FeedState
  var marks = SnapshotMarks()

  init(_ state: FeedState) { self.state = state }

  /// Storage of its own with the same content and marks. O(n).
  func copy() -> SnapshotStorage {
    let copy = SnapshotStorage(state.copyOfCurrent())
    copy.marks = marks
    return copy
  }

  // MARK: Finding

  private func table<Element>(_ element: Element.Type) -> ElementTable {
    ElementIdentifier<Element>.isOfItem ? state.items : state.sections
  }

  func find<Element>(_ id: ElementIdentifier<Element>) -> ElementHandle? {
    id.text.withBytes(table(Element.self).findPresent)
  }

  func known<Element>(_ id: ElementIdentifier<Element>) throws(SnapshotError) -> ElementHandle {
    guard let handle = find(id) else { throw .unknown(id) }
    return handle
  }

  func sectionIdentifier(_ handle: ElementHandle) -> SectionIdentifier {
    SectionIdentifier(state.sections.id(handle))
  }

  func itemIdentifier(_ handle: ElementHandle) -> ItemIdentifier { ItemIdentifier(state.items.id(handle)) }

  func count(_ scope: Scope) -> Int32 { state.list(scope).pointee.tree.currentCount }

  // MARK: Editing

  /// Makes an element without content, in no list yet.
  func make<Element>(_ id: ElementIdentifier<Element>) throws(SnapshotError) -> ElementHandle {
    let table = table(Element.self)
    let (known, created) = id.text.withBytes { text -> (ElementHandle?, ElementHandle?) in
      let hash = ByteHash.of(text)
      if let known = table.find(text, hash) { return (known, nil) }
      let isOfItem = ElementIdentifier<Element>.isOfItem
      return (nil, isOfItem ? state.items.create(text, hash) : state.makeSection(text, hash))
    }
    if let created { return created }
    // What is new in this edit counts as changed; what was there before does not.
    let isNew = known.map { !table[$0].change.isNone } ?? false
    throw .duplicate(id, isInArgument: isNew)
  }

  /// Moves an element next to another, into its list.
  func move<Element>(
    _ id: ElementIdentifier<Element>,
    to other: ElementIdentifier<Element>,
    isAfter: Bool
  ) throws(SnapshotError) {
    let (handle, anchor) = (try known(id), try known(other))
    guard handle != anchor else { throw .selfMove(id) }
    let table = table(Element.self)
    let scope = table[handle].scope
    let target = table[anchor].scope
    try checkPlaces(target)
    var rank = state.currentRank(anchor, target) + (isAfter ? 1 : 0)
    if scope == target {
      // Counted in the list without the element.
      let own = state.currentRank(handle, scope)
      if own < rank { rank -= 1 }
      if own == rank { return }
    }
    state.detach(handle, scope)
    state.attach(handle, target, at: rank)
  }

  /// Makes sure that a list's elements are where they are placed.
  func checkPlaces(_ scope: Scope) throws(SnapshotError) {
    if state.order(scope) != nil { throw .orderedSection(sectionIdentifier(scope.section)) }
  }

  /// Takes an item out.
  func delete(item handle: ElementHandle) {
    state.detach(handle, state.items[handle].scope)
    if !marks.isEmpty { marks.forget(itemIdentifier(handle)) }
  }

  /// Takes a section out, and its items.
  func delete(section handle: ElementHandle) {
    if !marks.isEmpty {
      marks.reloadedSections.remove(sectionIdentifier(handle))
      for item in state.currentHandles(.items(of: handle)) { marks.forget(itemIdentifier(item)) }
    }
    state.setOrder(.items(of: handle), [])
    state.detach(handle, .sections)
  }
}

/// The elements that a snapshot's next difference lists even if nothing about them changed.
struct SnapshotMarks {
  private(set) var reloadedItems: Set<ItemIdentifier> = []
  private(set) var reconfiguredItems: Set<ItemIdentifier> = []
  var reloadedSections: Set<SectionIdentifier> = []

  var isEmpty: Bool { reloadedItems.isEmpty && reconfiguredItems.isEmpty && reloadedSections.isEmpty }

  mutating func reload(_ item: ItemIdentifier) {
    reloadedItems.insert(item)
    reconfiguredItems.remove(item)
  }

  /// A reload replaces a reconfigure, whichever was asked for first.
  mutating func reconfigure(_ item: ItemIdentifier) {
    if !reloadedItems.contains(item) { reconfiguredItems.insert(item) }
  }

  /// Forgets an item, because it is deleted.
  mutating func forget(_ item: ItemIdentifier) {
    reloadedItems.remove(item)
    reconfiguredItems.remove(item)
  }
}

extension FeedState {
  /// Another state with the current content of this one, none of it changed since it was published.
  /// O(n), at the cost of an allocation an element, and one more for each long identifier.
  func copyOfCurrent() -> FeedState {
    let copy = FeedState()
    let sectionHandles = currentHandles(.sections)
    let copies = sectionHandles.map { section in
      let handle = copy.makeSettledSection(sections.id(section), sections[section].hash)
      copy.copyContent(sections[section], handle, copy.sections, fields(section: section))
      let settings = list(.items(of: section)).pointee.settings
      copy.list(.items(of: handle)).pointee.settings = settings
      copy.list(.items(of: handle)).pointee.publishedSettings = settings
      return handle
    }
    copy.appendSettled(copies, .sections, checksum: list(.sections).pointee.checksum)
    for (section, sectionCopy) in zip(sectionHandles, copies) {
      let itemCopies = currentHandles(.items(of: section)).map { item in
        let handle = copy.items.createSettled(items.id(item), items[item].hash)
        copy.copyContent(items[item], handle, copy.items, fields(item: item))
        return handle
      }
      let checksum = list(.items(of: section)).pointee.checksum
      copy.appendSettled(itemCopies, .items(of: sectionCopy), checksum: checksum)
    }
    copy.totals = totals
    copy.publishedTotals = totals
    return copy
  }

  private func copyContent(
    _ original: Element,
    _ handle: ElementHandle,
    _ table: ElementTable,
    _ fields: ElementFields
  ) {
    guard original.content.isSet else { return }
    setFirstContent(handle, table, fields, fingerprint: original.content.fingerprint)
  }
}
