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
