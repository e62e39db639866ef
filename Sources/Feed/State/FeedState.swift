internal import CXxhash
import Glibc

/// The content of one feed in two versions at once: published and current.
///
/// Changes are recorded as they are made, so that computing, confirming and undoing the difference cost as
/// much as the changes, not as the feed. Not thread-safe.
package final class FeedState {
  let sections = ElementTable()
  let items = ElementTable()
  /// The kinds of the items.
  @exclusivity(unchecked) var kinds = KindTable()
  /// The source of memory for data, if not the allocator.
  @exclusivity(unchecked) var blocks: BlockPool.Handle?
  /// Which items of the feed's directory show a content; nil in a replica, whose data includes the contents.
  @exclusivity(unchecked) var references: ReferenceIndex?
  /// The number of blocks with references.
  @exclusivity(unchecked) var referenceCount = 0
  /// The list of sections, followed by one list of items for each section handle.
  @exclusivity(unchecked) private var lists: UnsafeMutablePointer<OrderedList>
  @exclusivity(unchecked) private var listCapacity = 0
  /// The sort keys of items in ordered sections.
  @exclusivity(unchecked) var sortKeys = SortKeys()
  /// Sections that may exceed their limit, until the record's end.
  @exclusivity(unchecked) var overfull: [Scope] = []
  /// The ends of the partition's items; nil for a replica.
  @exclusivity(unchecked) var ends: ItemEnds?
  /// Undoes the current record; nil if that cannot become necessary.
  @exclusivity(unchecked) var journal: [Undo]?
  /// Numbers the journals, so that each element's content is stored once in each.
  @exclusivity(unchecked) var journalNumber: UInt32 = 0
  /// The feed's number in its directory.
  @exclusivity(unchecked) var number: UInt32 = 0

  /// Lists that were replaced since the last publication, each once.
  @exclusivity(unchecked) var replacedScopes: [Scope] = []

  /// Updated by each change.
  @exclusivity(unchecked) var totals = Totals()
  @exclusivity(unchecked) var publishedTotals = Totals()

  /// Totals of the whole feed.
  struct Totals: Equatable {
    var itemCount = 0
    /// The checksum of the protocol, section 4.3.
    var checksum: UInt32 = 0
    /// Items that end, and sections with a time to live. Here, where it takes no memory.
    var endCount: Int32 = 0
    /// Encoded bytes of the items in a reload, without commas.
    var itemBytes = 0
    /// Encoded bytes of the sections' ids and data in a reload.
    var sectionBytes = 0
    var filledSectionCount = 0
    /// Sections with an order, a bound or a time to live.
    var settingsCount = 0
  }

  package init() {
    lists = .allocate(capacity: 1)
    lists.initialize(to: OrderedList())
  }

  deinit {
    removeLists()
    for undo in journal ?? [] { undo.ownedContent?.free() }
  }

  // MARK: Lists

  private func removeLists() {
    for slot in 0...listCapacity { lists[slot].tree.removeAll() }
    lists.deinitialize(count: listCapacity + 1)
    lists.deallocate()
  }

  /// The list of sections, or of a section's items.
  @inline(__always)
  func list(_ scope: Scope) -> UnsafeMutablePointer<OrderedList> {
    assert(scope.index <= listCapacity, "a section has no list")
    return lists + scope.index
  }

  @inline(__always)
  func table(_ scope: Scope) -> ElementTable { scope.isSections ? sections : items }

  var sectionCount: Int { Int(list(.sections).pointee.tree.currentCount) }

  /// The handle for a section identifier, new or known from the published state.
  func makeSection(_ id: ByteSpan, _ hash: UInt32) -> ElementHandle {
    let handle = makeSettledSection(id, hash)
    sections.touch(handle)
    return handle
  }

  /// Creates a section in no list and without content, which does not count as a change.
  func makeSettledSection(_ id: ByteSpan, _ hash: UInt32) -> ElementHandle {
    let handle = sections.createSettled(id, hash)
    if handle.index >= listCapacity {
      let more = max(1, listCapacity)
      let larger = UnsafeMutablePointer<OrderedList>.allocate(capacity: listCapacity + more + 1)
      larger.moveInitialize(from: lists, count: listCapacity + 1)
      (larger + listCapacity + 1).initialize(repeating: OrderedList(), count: more)
      lists.deallocate()
      lists = larger
      listCapacity += more
    }
    list(.items(of: handle)).pointee = OrderedList()
    return handle
  }

  /// Releases memory if there are no sections.
  func compactLists() {
    guard sections.count == 0, listCapacity > 0 else { return }
    removeLists()
    listCapacity = 0
    lists = .allocate(capacity: 1)
    lists.initialize(to: OrderedList())
  }

  // MARK: Single changes

  /// Inserts an element that is not in the feed into a list, as the `rank`-th.
  func attach(_ handle: ElementHandle, _ scope: Scope, at rank: Rank) {
    attach(handle, scope, at: list(scope).pointee.tree.place(atCurrent: rank))
  }

  /// Inserts it at a position in the list's tree.
  func attach(_ handle: ElementHandle, _ scope: Scope, at place: OrderTree.Position) {
    let table = table(scope)
    let list = list(scope)
    table.touch(handle)
    table[handle].container = PackedOptional(scope)
    list.pointee.noteSingleChange()
    var position = place
    list.pointee.tree.insert(.newcomer(handle), at: &position, table)
    addToTotals(handle, scope, position, sign: 1)
    list.pointee.settings?.keep.number.map {
      if list.pointee.tree.currentCount > $0 { overfull.append(scope) }
    }
    journal?.append(.attached(handle, scope))
  }

  /// Removes an element from its list; its published entry stays as a ghost.
  func detach(_ handle: ElementHandle, _ scope: Scope) {
    let table = table(scope)
    let list = list(scope)
    table.touch(handle)
    list.pointee.noteSingleChange()
    guard let leaf = table[handle].leaf else { preconditionFailure("an element in the feed has no leaf") }
    let isSettled = table.withChange(handle) { $0.wasPublished && $0.ghostLeaf == nil }
    let position = list.pointee.tree.position(of: isSettled ? .both(handle) : .newcomer(handle), in: leaf)
    addToTotals(handle, scope, position, sign: -1)
    if journal != nil {
      let rank = list.pointee.tree.ranks(position).current
      journal?.append(.detached(handle, scope, rank: rank, leftGhost: isSettled))
    }
    if isSettled {
      list.pointee.tree.replace(position, with: .ghost(handle), table)
    } else {
      list.pointee.tree.remove(position, table)
    }
    table[handle].container = .none
    table[handle].leaf = nil
  }

  /// Makes an element count again at its ghost, if that is the `rank`-th position: undoes `detach`. The
  /// position differs if an undone replacement has put other elements before the ghost.
  func reviveGhost(_ handle: ElementHandle, _ scope: Scope, at rank: Rank) -> Bool {
    let table = table(scope)
    let list = list(scope)
    guard let leaf = table.withChange(handle, { $0.ghostLeaf }) else {
      preconditionFailure("no ghost to revive")
    }
    let position = list.pointee.tree.position(of: .ghost(handle), in: leaf)
    guard list.pointee.tree.ranks(position).current == rank else { return false }
    list.pointee.tree.replace(position, with: .both(handle), table)
    table.withChange(handle) { $0.ghostLeaf = nil }
    table[handle].container = PackedOptional(scope)
    addToTotals(handle, scope, position, sign: 1)
    return true
  }

  /// The position of an element's current entry.
  func currentPosition(_ handle: ElementHandle, _ scope: Scope) -> OrderTree.Position {
    let table = table(scope)
    guard let leaf = table[handle].leaf else { preconditionFailure("an element in the feed has no leaf") }
    let change = table[handle].change
    let isNewcomer = !change.isNone && table.withChange(handle) { !$0.wasPublished || $0.ghostLeaf != nil }
    return list(scope).pointee.tree.position(of: isNewcomer ? .newcomer(handle) : .both(handle), in: leaf)
  }

  /// The number of elements before an element in its current list.
  func currentRank(_ handle: ElementHandle, _ scope: Scope) -> Rank {
    list(scope).pointee.tree.ranks(currentPosition(handle, scope)).current
  }

  /// The element at a position of a current list.
  func element(at rank: Rank, _ scope: Scope) -> ElementHandle? {
    list(scope).pointee.tree.select(current: rank)?.entry.handle
  }

  // MARK: Totals

  /// Adds a current entry at a position to the totals, or subtracts it.
  private func addToTotals(_ handle: ElementHandle, _ scope: Scope, _ position: OrderTree.Position, sign: Int)
  {
    let list = list(scope)
    let (previous, next) = list.pointee.tree.currentNeighbours(around: position)
    var sum = checksumTerm(handle, after: previous, scope)
    if let next {
      sum &+= checksumTerm(next, after: handle, scope) &- checksumTerm(next, after: previous, scope)
    }
    addChecksum(sign > 0 ? sum : 0 &- sum, scope)
    addSize(handle, scope, sign: sign)
    if !scope.isSections {
      // A detached element is still in its list here.
      let others = list.pointee.tree.currentCount - 1
      if others == 0 { totals.filledSectionCount += sign }
    }
  }

  /// Adds or subtracts an element's encoded size, and counts the element.
  func addSize(_ handle: ElementHandle, _ scope: Scope, sign: Int) {
    if scope.isSections {
      totals.sectionBytes += sign * sizeOfSection(handle)
      if let settings = list(.items(of: handle)).pointee.settings {
        totals.settingsCount += sign
        if settings.ttl != .none { countEnds(sign) }
      }
    } else {
      totals.itemBytes += sign * sizeOfItem(handle)
      totals.itemCount += sign
      if items[handle].content.hasEnd {
        countEnds(sign)
        if sign > 0 { schedule(items[handle].content.end, of: handle) }
      }
    }
  }

  func addChecksum(_ sum: UInt32, _ scope: Scope) {
    totals.checksum &+= sum
    list(scope).pointee.checksum &+= sum
  }

  /// The checksum's term for an element that follows another, or is the first.
  func checksumTerm(_ handle: ElementHandle, after previous: ElementHandle?, _ scope: Scope) -> UInt32 {
    if scope.isSections {
      return Checksum.section(
        sections.id(handle),
        after: previous.map { sections.id($0) } ?? .empty
      )
    }
    return Checksum.item(
      items.id(handle),
      kind: kind(handle),
      after: previous.map { items.id($0) } ?? .empty,
      in: sections.id(scope.section)
    )
  }
}

/// Read access for other modules to a state that is not changed.
extension FeedState {
  package var checksum: UInt32 { totals.checksum }
  package var itemCount: Int { totals.itemCount }

  // MARK: Sections

  /// The sections in order; valid until the state changes.
  package var sectionCursor: CurrentCursor { CurrentCursor(list(.sections).pointee.tree) }

  package func sectionID(_ section: ElementHandle) -> ByteSpan { sections.id(section) }

  /// The rank of a section; nil if it does not exist.
  package func sectionRank(_ id: ByteSpan) -> Rank? {
    sections.findPresent(id).map { currentRank($0, .sections) }
  }

  // MARK: Items

  /// The items of a section in order; valid until the state changes.
  package func itemCursor(of section: ElementHandle) -> CurrentCursor {
    CurrentCursor(list(.items(of: section)).pointee.tree)
  }

  package func itemID(_ item: ElementHandle) -> ByteSpan { items.id(item) }
  package func hasItem(_ id: ByteSpan) -> Bool { items.findPresent(id) != nil }

  // MARK: Size

  /// Bytes of a reload as one value.
  ///
  /// - Parameter headBytes: the bytes of the fields before its lists.
  package func reloadByteCount(headBytes: Int) -> Int { ReloadWriter.byteCount(self, headBytes: headBytes) }
}

/// New elements that count as published at once, so that confirming the state has no work. For a state under
/// construction, of which nothing was published.
extension FeedState {
  /// Sets an element's first content.
  ///
  /// - Parameter fingerprint: the content's fingerprint, if known.
  func setFirstContent(
    _ handle: ElementHandle,
    _ table: ElementTable,
    _ fields: ElementFields,
    fingerprint: UInt32? = nil
  ) {
    var content = Content(
      copying: fields.data ?? .empty,
      fingerprint: fingerprint ?? Content().fingerprint(with: fields),
      kind: kinds.use(fields.kind ?? .empty),
      blocks: blocks
    )
    if table === items, fields.hasReferences || fields.lifetime.number != nil {
      let references = fields.hasReferences ? makeReferences(fields.refs ?? .empty, of: handle) : nil
      content.append(fields.lifetime, references, blocks: blocks)
    }
    table[handle].content = content
  }

  /// Adds elements at the end of a list. The caller updates the totals.
  ///
  /// - Parameter checksum: the sum of the elements' terms.
  func appendSettled(_ handles: [ElementHandle], _ scope: Scope, checksum: UInt32) {
    let table = table(scope)
    let list = list(scope)
    for handle in handles { table[handle].container = PackedOptional(scope) }
    handles.map(OrderEntry.both).withUnsafeBufferPointer { list.pointee.tree.append($0, table) }
    list.pointee.checksum &+= checksum
    list.pointee.publishedChecksum = list.pointee.checksum
  }
}

/// The terms of a feed's checksum (protocol, section 4.3): XXH32 with seed 0 over each element and
/// its predecessor. The checksum is their sum, so that a change touches only its neighbours' terms.
///
/// Identifiers and kinds have at most 255 bytes.
enum Checksum {
  static func section(_ id: ByteSpan, after previous: ByteSpan) -> UInt32 {
    precondition(id.count < 256 && previous.count < 256)
    return feedstore_xxh32_section(previous.base, previous.count, id.base, id.count)
  }

  static func item(_ id: ByteSpan, kind: ByteSpan, after previous: ByteSpan, in section: ByteSpan) -> UInt32 {
    precondition(id.count < 256 && kind.count < 256 && previous.count < 256 && section.count < 256)
    return feedstore_xxh32_item(
      section.base,
      section.count,
      previous.base,
      previous.count,
      id.base,
      id.count,
      kind.base,
      kind.count
    )
  }
}
