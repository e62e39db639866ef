/// Finds the difference between two states of whatever history.
///
/// Both are only read, so that states which several threads share can be compared. Each list of the
/// new state is walked once, with its old counterpart beside it: where the two go on alike, a look at
/// the next old element finds its match, else the table of identifiers does. What is in both lists
/// stays where it is if it is in a longest increasing subsequence of the old indexes, and has moved
/// otherwise. As lists are walked in order, all entries come out sorted. O(n), and O(n log n) where
/// much has moved.
struct SnapshotComparison {
  private let old: FeedState
  private let new: FeedState
  /// What the new state lists even if it did not change.
  private let marks: SnapshotMarks
  private let oldSections: [UInt32]
  private let newSections: [UInt32]
  private var oldSectionOrder = OldOrder()
  private var oldItemOrder = OldOrder()
  private var result = SnapshotDifference()

  init(from old: FeedState, to new: FeedState, marks: SnapshotMarks) {
    self.old = old
    self.new = new
    self.marks = marks
    oldSections = old.currentHandles(FeedState.sectionScope)
    newSections = new.currentHandles(FeedState.sectionScope)
  }

  consuming func difference() -> SnapshotDifference {
    var comparison = self
    comparison.compareSections()
    comparison.compareItems()
    return comparison.result
  }

  // MARK: Sections

  private mutating func compareSections() {
    oldSectionOrder.append(oldSections)
    var matches = ListMatches()
    for (index, handle) in newSections.enumerated() {
      let section = new.sections[handle]
      let entry = { () -> SectionChanges.Entry in
        SectionChanges.Entry(
          id: SectionIdentifier(section.idSpan),
          index: index,
          data: JSONData(checked: section.data)
        )
      }
      guard let match = old.sections.find(section.idSpan, section.hash) else {
        result.sections.inserts.append(entry())
        continue
      }
      matches.append(index, from: oldSectionOrder.match(match), old: match, isCrossing: false)
      if marks.reloadedSections.contains(handle) {
        result.sections.reloads.append(entry())
      } else if !old.sections[match].data.hasSameBytes(as: section.data) {
        result.sections.reconfigures.append(entry())
      }
    }
    matches.forEachMove { match in
      let id = SectionIdentifier(new.sections[newSections[match.index]].idSpan)
      result.sections.moves.append(SectionChanges.Move(id: id, from: Int(match.from), to: match.index))
    }
    for (index, handle) in oldSections.enumerated() where !oldSectionOrder.isMatched(handle) {
      let id = SectionIdentifier(old.sections[handle].idSpan)
      result.sections.deletes.append(SectionChanges.Delete(id: id, index: index))
    }
  }

  // MARK: Items

  private mutating func compareItems() {
    let oldLists = oldSections.map(old.currentHandles)
    for list in oldLists { oldItemOrder.append(list) }
    for section in newSections {
      let element = new.sections[section]
      let match = old.sections.find(element.idSpan, element.hash)
      compareItems(of: section, with: match, match.map { oldLists[Int(oldSectionOrder.index($0))] } ?? [])
    }
    for (section, list) in zip(oldSections, oldLists) where oldSectionOrder.isMatched(section) {
      for (index, item) in list.enumerated() where !oldItemOrder.isMatched(item) {
        result.items.deletes.append(
          ItemChanges.Delete(
            id: ItemIdentifier(old.items[item].idSpan),
            position: position(index, section, old)
          )
        )
      }
    }
  }

  /// - Parameters:
  ///   - oldSection: the section's handle in the old state; nil if it is new.
  ///   - oldList: its items in the old state.
  private mutating func compareItems(of section: UInt32, with oldSection: UInt32?, _ oldList: [UInt32]) {
    let list = new.currentHandles(section)
    var matches = ListMatches()
    var next = 0
    for (index, handle) in list.enumerated() {
      let item = new.items[handle]
      let found: UInt32?
      if next < oldList.count, isSame(old.items[oldList[next]], item) {
        found = oldList[next]
      } else {
        found = old.items.find(item.idSpan, item.hash)
      }
      guard let match = found else {
        result.items.inserts.append(entry(item, index, section))
        continue
      }
      let from = oldItemOrder.match(match)
      let isCrossing = old.items[match].container != oldSection
      if !isCrossing { next = Int(from) + 1 }
      matches.append(index, from: from, old: match, isCrossing: isCrossing)
      compareContent(handle, item, index, section, with: old.items[match])
    }
    matches.forEachMove { match in
      result.items.moves.append(
        ItemChanges.Move(
          id: ItemIdentifier(new.items[list[match.index]].idSpan),
          from: position(Int(match.from), old.items[match.old].container, old),
          to: position(match.index, section, new)
        )
      )
    }
  }

  private mutating func compareContent(
    _ handle: UInt32,
    _ item: Element,
    _ index: Int,
    _ section: UInt32,
    with oldItem: Element
  ) {
    if !oldItem.kind.hasSameBytes(as: item.kind) || marks.reloadedItems.contains(handle) {
      result.items.reloads.append(entry(item, index, section))
    } else if !oldItem.data.hasSameBytes(as: item.data) || marks.reconfiguredItems.contains(handle) {
      result.items.reconfigures.append(
        ItemChanges.Reconfigure(
          id: ItemIdentifier(item.idSpan),
          position: position(index, section, new),
          data: JSONData(checked: item.data)
        )
      )
    }
  }

  private func isSame(_ one: Element, _ other: Element) -> Bool {
    one.hash == other.hash && one.idSpan.hasSameBytes(as: other.idSpan)
  }

  private func entry(_ item: Element, _ index: Int, _ section: UInt32) -> ItemChanges.Entry {
    ItemChanges.Entry(
      id: ItemIdentifier(item.idSpan),
      position: position(index, section, new),
      kind: ItemKind(item.kind),
      data: JSONData(checked: item.data)
    )
  }

  private func position(_ index: Int, _ section: UInt32, _ state: FeedState) -> ItemPosition {
    ItemPosition(section: SectionIdentifier(state.sections[section].idSpan), index: index)
  }
}
