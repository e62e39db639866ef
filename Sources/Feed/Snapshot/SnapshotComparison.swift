/// Finds the difference between two states of whatever history; where it is known which items may differ, a look at those is
/// enough (`SnapshotComparison+Edited.swift`).
///
/// Both are only read, so that states which several threads share can be compared. Each list of the
/// new state is walked once, with its old counterpart beside it: where the two go on alike, a look at
/// the next old element finds its match, else the table of identifiers does. What is in both lists
/// stays where it is if it is in a longest increasing subsequence of the old indexes, and has moved
/// otherwise. As lists are walked in order, all entries come out sorted. O(n), and O(n log n) where
/// much has moved.
///
/// Elements that go on alike are looked at once, side by side, and leave nothing behind but a longer run (`ListMatches`). If both
/// snapshots have digests of their items, equal digests are enough.
struct SnapshotComparison {
  let old: FeedState
  let new: FeedState
  /// What the new state lists even if it did not change.
  let marks: SnapshotMarks
  let oldSections: [ElementHandle]
  let newSections: [ElementHandle]
  private(set) var oldSectionOrder: OldOrder
  var result = SnapshotDifference()
  private let hasMarks: Bool
  private let digests: DigestComparison
  /// The kinds that were compared last, by their numbers: most items have the kind of the one before them.
  private var comparedKinds = (old: KindTable.empty, new: KindTable.empty, areSame: true)

  /// - Parameters:
  ///   - marks: the new one's, or none.
  ///   - byDigests: whether items with equal digests pass for equal; for tests.
  init(
    from oldStorage: SnapshotStorage,
    to newStorage: SnapshotStorage,
    marks: SnapshotMarks,
    byDigests: Bool = true
  ) {
    old = oldStorage.state
    new = newStorage.state
    self.marks = marks
    hasMarks = !marks.isEmpty
    digests = DigestComparison(byDigests ? oldStorage.digests : nil, newStorage.digests)
    oldSections = old.currentHandles(.sections)
    newSections = new.currentHandles(.sections)
    oldSectionOrder = OldOrder(oldSections)
  }

  consuming func difference() -> SnapshotDifference {
    var comparison = self
    comparison.compareSections()
    comparison.compareItems()
    return comparison.result
  }

  // MARK: Sections

  mutating func compareSections() {
    var matches = ListMatches()
    for (index, handle) in newSections.enumerated() {
      let section = new.sections[handle]
      guard let match = old.sections.find(new.sections.id(handle), section.hash) else {
        result.sections.inserts.append(entry(handle, index))
        continue
      }
      matches.append(index, from: oldSectionOrder.match(match))
      if marks.reloadedSections.contains(handle) {
        result.sections.reloads.append(entry(handle, index))
      } else if !old.sections[match].content.hasSameData(as: section.content) {
        result.sections.reconfigures.append(entry(handle, index))
      }
    }
    matches.forEachMove { match in
      let id = SectionIdentifier(new.sections.id(newSections[match.index]))
      result.sections.moves.append(SectionChanges.Move(id: id, from: Int(match.from), to: match.index))
    }
    for (index, handle) in oldSections.enumerated() where !oldSectionOrder.isMatched(handle) {
      let id = SectionIdentifier(old.sections.id(handle))
      result.sections.deletes.append(SectionChanges.Delete(id: id, index: index))
    }
  }

  private func entry(_ handle: ElementHandle, _ index: Int) -> SectionChanges.Entry {
    SectionChanges.Entry(new.sections.id(handle), index: index, new.fields(section: handle))
  }

  // MARK: Items

  private mutating func compareItems() {
    var oldItems = OldItems(old, oldSections)
    for section in newSections {
      let match = old.sections.find(new.sections.id(section), new.sections[section].hash)
      compareItems(of: section, with: match, &oldItems)
    }
    for (number, section) in oldSections.enumerated() where oldSectionOrder.isMatched(section) {
      let identifier = SectionIdentifier(old.sections.id(section))
      let list = oldItems.lists[number]
      old.items.forEach(oldItems.unmatched(list: number), of: list, readsData: false) { handle, index in
        appendDelete(handle, index, identifier)
      }
    }
  }

  /// Adds an item of the old state that the new one does not have.
  mutating func appendDelete(_ item: ElementHandle, _ index: Int, _ section: SectionIdentifier) {
    result.items.deletes.append(
      ItemChanges.Delete(
        id: ItemIdentifier(old.items.id(item)),
        position: ItemPosition(section: section, index: index)
      )
    )
  }

  /// - Parameter oldSection: the section's handle in the old state; nil if it is new.
  private mutating func compareItems(
    of section: ElementHandle,
    with oldSection: ElementHandle?,
    _ oldItems: inout OldItems
  ) {
    let list = new.currentHandles(.items(of: section))
    let oldListNumber = oldSection.map { Int(oldSectionOrder.index($0)) }
    let oldList = oldListNumber.map { oldItems.lists[$0] } ?? []
    let identifier = SectionIdentifier(new.sections.id(section))
    var matches = ListMatches()
    /// Where the next item probably is, and where it was before a look elsewhere.
    var (next, last) = (0, 0)
    var index = 0
    var inserted: [Int] = []
    while index < list.count {
      if let oldListNumber {
        let count = passAlike(list, index, identifier, with: oldList, next)
        if count > 0 {
          oldItems.noteMatches(next, count: count, list: oldListNumber)
          matches.append(index, from: Int32(next), count: count)
          index += count
          next += count
          continue
        }
      }
      defer { index += 1 }
      let handle = list[index]
      // One was deleted before it, or one that has moved came before it.
      if let oldListNumber,
        let from = firstPlace(next + 1, last, of: handle, in: oldList)
      {
        oldItems.noteMatches(from, list: oldListNumber)
        matches.append(index, from: Int32(from))
        next = from + 1
        compareContent(handle, index, identifier, with: oldList[from])
        continue
      }
      guard let match = old.items.find(new.items.id(handle), new.items[handle].hash) else {
        inserted.append(index)
        continue
      }
      let container = old.items[match].scope.section
      let from = oldItems.index(of: match)
      oldItems.noteMatches(Int(from), list: Int(oldSectionOrder.index(container)))
      if container == oldSection {
        (last, next) = (next, Int(from) + 1)
        matches.append(index, from: from)
      } else {
        matches.append(index, from: from, crossing: match)
      }
      compareContent(handle, index, identifier, with: match)
    }
    new.items.forEach(inserted, of: list, readsData: true) { handle, index in
      result.items.inserts.append(entry(handle, index, identifier))
    }
    appendMoves(matches, to: identifier, from: oldSection) { list[$0] }
  }

  /// The first of two places at which an old list has an item of the new state, if it has it at one of them.
  @inline(__always)
  private func firstPlace(
    _ first: Int,
    _ second: Int,
    of item: ElementHandle,
    in oldList: [ElementHandle]
  ) -> Int? {
    if first < oldList.count, isSame(oldList[first], item) { return first }
    return second < oldList.count && isSame(oldList[second], item) ? second : nil
  }

  /// Adds the moves to a section.
  ///
  /// - Parameters:
  ///   - matches: what is in the section and was in the old state too.
  ///   - oldSection: the section's handle in the old state; nil if it is new.
  ///   - item: the section's item at a place.
  mutating func appendMoves(
    _ matches: ListMatches,
    to section: SectionIdentifier,
    from oldSection: ElementHandle?,
    item: (Int) -> ElementHandle
  ) {
    matches.forEachMove { match in
      guard let from = match.crossing.map({ old.items[$0].scope.section }) ?? oldSection else {
        preconditionFailure("what comes from no other list was in this one")
      }
      result.items.moves.append(
        ItemChanges.Move(
          id: ItemIdentifier(new.items.id(item(match.index))),
          from: ItemPosition(section: SectionIdentifier(old.sections.id(from)), index: Int(match.from)),
          to: ItemPosition(section: section, index: match.index)
        )
      )
    }
  }

  /// Compares the contents of items that follow one another in both lists.
  ///
  /// - Returns: how many there are from these places on.
  private mutating func passAlike(
    _ list: [ElementHandle],
    _ start: Int,
    _ section: SectionIdentifier,
    with oldList: [ElementHandle],
    _ oldStart: Int
  ) -> Int {
    list.withUnsafeBufferPointer { list in
      oldList.withUnsafeBufferPointer { oldList in
        let most = min(list.count - start, oldList.count - oldStart)
        var count = 0
        while count < most, isSame(oldList[oldStart + count], list[start + count]) {
          compareContent(list[start + count], start + count, section, with: oldList[oldStart + count])
          count += 1
        }
        return count
      }
    }
  }

  @inline(__always)
  mutating func compareContent(
    _ handle: ElementHandle,
    _ index: Int,
    _ section: SectionIdentifier,
    with match: ElementHandle
  ) {
    if !hasMarks, digests.areEqual(match, handle) { return }
    let areKindsSame = hasSameKind(match, handle)
    if areKindsSame, !hasMarks, old.items[match].content.hasSameData(as: new.items[handle].content) { return }
    appendContent(handle, index, section, with: match, areKindsSame)
  }

  @inline(never)
  private mutating func appendContent(
    _ handle: ElementHandle,
    _ index: Int,
    _ section: SectionIdentifier,
    with match: ElementHandle,
    _ areKindsSame: Bool
  ) {
    let item = new.items[handle]
    if !areKindsSame || marks.reloadedItems.contains(handle) {
      result.items.reloads.append(entry(handle, index, section))
    } else if !old.items[match].content.hasSameData(as: item.content)
      || marks.reconfiguredItems.contains(handle)
    {
      result.items.reconfigures.append(
        ItemChanges.Reconfigure(
          new.items.id(handle),
          ItemPosition(section: section, index: index),
          new.fields(item: handle)
        )
      )
    }
  }

  @inline(__always)
  private mutating func hasSameKind(_ oldItem: ElementHandle, _ newItem: ElementHandle) -> Bool {
    let (oldKind, newKind) = (old.items[oldItem].content.kind, new.items[newItem].content.kind)
    if oldKind != comparedKinds.old || newKind != comparedKinds.new {
      comparedKinds = (oldKind, newKind, old.kinds[oldKind].hasSameBytes(as: new.kinds[newKind]))
    }
    return comparedKinds.areSame
  }

  /// Whether an item of the old state and one of the new have the same identifier.
  @inline(__always)
  private func isSame(_ oldItem: ElementHandle, _ newItem: ElementHandle) -> Bool {
    if digests.areEqual(oldItem, newItem) { return true }
    if digests.haveDifferentIdentifiers(oldItem, newItem) { return false }
    return old.items[oldItem].hash == new.items[newItem].hash
      && old.items.id(oldItem).hasSameBytes(as: new.items.id(newItem))
  }

  func entry(_ handle: ElementHandle, _ index: Int, _ section: SectionIdentifier) -> ItemChanges.Entry {
    ItemChanges.Entry(
      new.items.id(handle),
      ItemPosition(section: section, index: index),
      new.fields(item: handle)
    )
  }
}

extension SnapshotComparison {
  /// An item that may differ, and where it stands in its list.
  private struct Place {
    let index: Int
    let handle: ElementHandle
  }

  /// The difference if it is known which items may differ: the one that a comparison of everything finds.
  ///
  /// O(s + k log n) for s sections and k items.
  ///
  /// - Parameter edited: at least the items that are in one of the states only, or differ in section or content, or are not in
  ///   the same order as the others of their section.
  consuming func difference(among edited: Set<ItemIdentifier>) -> SnapshotDifference {
    var comparison = self
    comparison.compareSections()
    comparison.compareItems(among: edited)
    return comparison.result
  }

  private mutating func compareItems(among edited: Set<ItemIdentifier>) {
    // What is marked is looked at as well.
    let marked = marks.reloadedItems.union(marks.reconfiguredItems).map { ItemIdentifier(new.items.id($0)) }
    let items = edited.union(marked)
    let newPlaces = SnapshotComparison.places(of: items, in: new)
    let oldPlaces = SnapshotComparison.places(of: items, in: old)
    // A list without such items has those that it had, in their order, or fewer.
    for section in newSections {
      guard let places = newPlaces[section] else { continue }
      let oldSection = old.sections.find(new.sections.id(section), new.sections[section].hash)
      compareItems(of: section, places, with: oldSection, oldSection.flatMap { oldPlaces[$0] } ?? [])
    }
    for section in oldSections where oldSectionOrder.isMatched(section) {
      guard let places = oldPlaces[section] else { continue }
      let identifier = SectionIdentifier(old.sections.id(section))
      for place in places where new.items.findPresent(old.items.id(place.handle)) == nil {
        appendDelete(place.handle, place.index, identifier)
      }
    }
  }

  /// Where items stand, by section, in order.
  private static func places(of items: Set<ItemIdentifier>, in state: FeedState) -> [ElementHandle: [Place]] {
    var places: [ElementHandle: [Place]] = [:]
    for item in items {
      guard let handle = item.text.withBytes(state.items.findPresent) else { continue }
      let scope = state.items[handle].scope
      places[scope.section, default: []].append(
        Place(index: Int(state.currentRank(handle, scope).number), handle: handle)
      )
    }
    return places.mapValues { $0.sorted { $0.index < $1.index } }
  }

  /// - Parameters:
  ///   - places: where items that may differ stand in the section.
  ///   - oldSection: the section's handle in the old state; nil if it is new.
  ///   - oldPlaces: where such items stand there.
  private mutating func compareItems(
    of section: ElementHandle,
    _ places: [Place],
    with oldSection: ElementHandle?,
    _ oldPlaces: [Place]
  ) {
    let identifier = SectionIdentifier(new.sections.id(section))
    let count = Int(new.list(.items(of: section)).pointee.tree.currentCount)
    var matches = ListMatches()
    var oldCount = 0
    /// Adds the items between those that may differ, which are in both lists in the same order.
    func pass(_ start: Int, _ end: Int, behind newCount: Int) {
      var index = start
      while index < end {
        // As the list's so many-th item of this kind, it has the same number in the old list.
        let number = index - newCount
        while oldCount < oldPlaces.count, oldPlaces[oldCount].index - oldCount <= number { oldCount += 1 }
        let oldEnd = oldCount < oldPlaces.count ? oldPlaces[oldCount].index - oldCount : Int.max - newCount
        let next = min(end, oldEnd + newCount)
        matches.append(index, from: Int32(number + oldCount), count: next - index)
        index = next
      }
    }
    var start = 0
    for (number, place) in places.enumerated() {
      pass(start, place.index, behind: number)
      start = place.index + 1
      guard let match = old.items.findPresent(new.items.id(place.handle)) else {
        result.items.inserts.append(entry(place.handle, place.index, identifier))
        continue
      }
      let scope = old.items[match].scope
      let from = old.currentRank(match, scope).number
      if scope.section == oldSection {
        matches.append(place.index, from: from)
      } else {
        matches.append(place.index, from: from, crossing: match)
      }
      compareContent(place.handle, place.index, identifier, with: match)
    }
    pass(start, count, behind: places.count)
    let new = new
    appendMoves(matches, to: identifier, from: oldSection) { index in
      guard let item = new.element(at: Rank(index), .items(of: section)) else {
        preconditionFailure("no item at \(index)")
      }
      return item
    }
  }
}
