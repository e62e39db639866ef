extension FeedState {
  /// What turns another state into this one. Both are only read, so that states which several threads share can be compared.
  ///
  /// A copy of the other state is given this one's content, as `feed.replace` does. O(n).
  ///
  /// - Parameter marks: what of this state is listed even if it did not change.
  func difference(from other: FeedState, marks: SnapshotMarks = SnapshotMarks()) -> SnapshotDifference {
    let copy = other.copyOfCurrent()
    let (sections, items) = listed()
    copy.replaceAll(sections[...], items)
    func force(
      _ marked: Set<ElementHandle>,
      _ path: KeyPath<FeedState, ElementTable>,
      _ forced: ElementChange.Forced
    ) {
      for handle in marked {
        copy[keyPath: path].findPresent(self[keyPath: path].id(handle)).map {
          copy.force($0, copy[keyPath: path], forced)
        }
      }
    }
    force(marks.reloadedSections, \.sections, .reload)
    force(marks.reloadedItems, \.items, .reload)
    force(marks.reconfiguredItems, \.items, .reconfigure)
    return SnapshotDifference(copy.difference(), in: copy)
  }

  /// The state as a `feed.replace` would list it.
  private func listed() -> (sections: [ListedSection], items: [ListedItem]) {
    var listedItems: [ListedItem] = []
    listedItems.reserveCapacity(totals.itemCount)
    let listedSections = currentHandles(.sections).map { section in
      let first = listedItems.count
      for item in currentHandles(.items(of: section)) {
        listedItems.append(ListedItem(id: items.id(item), hash: items[item].hash, fields: fields(item: item)))
      }
      return ListedSection(
        id: sections.id(section),
        hash: sections[section].hash,
        fields: fields(section: section),
        items: first..<listedItems.count
      )
    }
    return (listedSections, listedItems)
  }
}

extension SnapshotDifference {
  /// The entries of a state's difference, with copies of what they name.
  fileprivate init(_ difference: FeedDifference, in state: FeedState) {
    func id(_ entry: FeedDifference.Entry) -> ByteSpan { state.items.id(entry.handle) }
    func sectionID(_ handle: ElementHandle) -> SectionIdentifier {
      SectionIdentifier(state.sections.id(handle))
    }
    func from(_ entry: FeedDifference.Entry) -> ItemPosition {
      ItemPosition(section: sectionID(entry.fromScope.section), index: Int(entry.from.number))
    }
    func to(_ entry: FeedDifference.Entry) -> ItemPosition {
      ItemPosition(section: sectionID(entry.toScope.section), index: Int(entry.to.number))
    }
    func section(_ entry: FeedDifference.Entry) -> SectionChanges.Entry {
      SectionChanges.Entry(
        state.sections.id(entry.handle),
        index: Int(entry.to.number),
        state.fields(section: entry.handle)
      )
    }
    func item(_ entry: FeedDifference.Entry) -> ItemChanges.Entry {
      ItemChanges.Entry(id(entry), to(entry), state.fields(item: entry.handle))
    }
    self.init()
    let (sections, items) = (difference.sections, difference.items)
    self.sections.deletes = sections.deletes.map {
      SectionChanges.Delete(id: sectionID($0.handle), index: Int($0.from.number))
    }
    self.sections.inserts = sections.inserts.map(section)
    self.sections.moves = sections.moves.map {
      SectionChanges.Move(id: sectionID($0.handle), from: Int($0.from.number), to: Int($0.to.number))
    }
    self.sections.reconfigures = sections.reconfigures.map(section)
    self.sections.reloads = sections.reloads.map(section)
    self.items.deletes = items.deletes.map {
      ItemChanges.Delete(id: ItemIdentifier(id($0)), position: from($0))
    }
    self.items.inserts = items.inserts.map(item)
    self.items.moves = items.moves.map {
      ItemChanges.Move(id: ItemIdentifier(id($0)), from: from($0), to: to($0))
    }
    self.items.reconfigures = items.reconfigures.map {
      ItemChanges.Reconfigure(id($0), to($0), state.fields(item: $0.handle))
    }
    self.items.reloads = items.reloads.map(item)
  }
}
