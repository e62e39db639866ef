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
      guard let match = old.sections.find(new.sections.id(handle), section.hash) else {
        result.sections.inserts.append(entry(handle, index))
        continue
      }
      matches.append(index, from: oldSectionOrder.match(match), old: match, isCrossing: false)
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

  private func entry(_ handle: UInt32, _ index: Int) -> SectionChanges.Entry {
    SectionChanges.Entry(
      id: SectionIdentifier(new.sections.id(handle)),
      index: index,
      data: JSONData(checked: new.sections[handle].data)
    )
  }

  // MARK: Items

  private mutating func compareItems() {
    let oldLists = oldSections.map(old.currentHandles)
    for list in oldLists { oldItemOrder.append(list) }
    for section in newSections {
      let match = old.sections.find(new.sections.id(section), new.sections[section].hash)
      compareItems(of: section, with: match, match.map { oldLists[Int(oldSectionOrder.index($0))] } ?? [])
    }
    for (section, list) in zip(oldSections, oldLists) where oldSectionOrder.isMatched(section) {
      for (index, item) in list.enumerated() where !oldItemOrder.isMatched(item) {
        result.items.deletes.append(
          ItemChanges.Delete(
            id: ItemIdentifier(old.items.id(item)),
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
      if next < oldList.count, isSame(oldList[next], handle) {
        found = oldList[next]
      } else {
        found = old.items.find(new.items.id(handle), item.hash)
      }
      guard let match = found else {
        result.items.inserts.append(entry(handle, index, section))
        continue
      }
      let from = oldItemOrder.match(match)
      let isCrossing = old.items[match].container != oldSection
      if !isCrossing { next = Int(from) + 1 }
      matches.append(index, from: from, old: match, isCrossing: isCrossing)
      compareContent(handle, index, section, with: match)
    }
    matches.forEachMove { match in
      result.items.moves.append(
        ItemChanges.Move(
          id: ItemIdentifier(new.items.id(list[match.index])),
          from: position(Int(match.from), old.items[match.old].container, old),
          to: position(match.index, section, new)
        )
      )
    }
  }

  private mutating func compareContent(
    _ handle: UInt32,
    _ index: Int,
    _ section: UInt32,
    with match: UInt32
  ) {
    let item = new.items[handle]
    if !old.kind(match).hasSameBytes(as: new.kind(handle)) || marks.reloadedItems.contains(handle) {
      result.items.reloads.append(entry(handle, index, section))
    } else if !old.items[match].content.hasSameData(as: item.content)
      || marks.reconfiguredItems.contains(handle)
    {
      result.items.reconfigures.append(
        ItemChanges.Reconfigure(
          id: ItemIdentifier(new.items.id(handle)),
          position: position(index, section, new),
          data: JSONData(checked: item.data)
        )
      )
    }
  }

  /// Whether an item of the old state and one of the new have the same identifier.
  private func isSame(_ oldItem: UInt32, _ newItem: UInt32) -> Bool {
    old.items[oldItem].hash == new.items[newItem].hash
      && old.items.id(oldItem).hasSameBytes(as: new.items.id(newItem))
  }

  private func entry(_ handle: UInt32, _ index: Int, _ section: UInt32) -> ItemChanges.Entry {
    let item = new.items[handle]
    return ItemChanges.Entry(
      id: ItemIdentifier(new.items.id(handle)),
      position: position(index, section, new),
      kind: ItemKind(new.kind(handle)),
      data: JSONData(checked: item.data)
    )
  }

  private func position(_ index: Int, _ section: UInt32, _ state: FeedState) -> ItemPosition {
    ItemPosition(section: SectionIdentifier(state.sections.id(section)), index: index)
  }
}
