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
    func force<Element>(
      _ marked: Set<ElementIdentifier<Element>>,
      _ table: ElementTable,
      _ forced: ElementChange.Forced
    ) {
      for id in marked { id.text.withBytes(table.findPresent).map { copy.force($0, table, forced) } }
    }
    force(marks.reloadedSections, copy.sections, .reload)
    force(marks.reloadedItems, copy.items, .reload)
    force(marks.reconfiguredItems, copy.items, .reconfigure)
    return SnapshotDifference(DecodedEntries(copy.difference(), in: copy))
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

extension DecodedEntries {
  /// The entries of a state's difference, with spans of what the state has.
  fileprivate init(_ difference: FeedDifference, in state: FeedState) {
    self.init(
      sections: Lists(difference.sections, state.sections, in: state) { state.fields(section: $0) },
      items: Lists(difference.items, state.items, in: state) { state.fields(item: $0) }
    )
    for index in items[.reconfigure].indices { items[.reconfigure][index].fields.kind = nil }
  }
}

extension DecodedEntries.Lists {
  fileprivate init(
    _ entries: FeedDifference.Entries,
    _ table: ElementTable,
    in state: FeedState,
    _ fields: (ElementHandle) -> ElementFields
  ) {
    func section(_ scope: Scope) -> ByteSpan { scope.isSections ? .empty : state.sections.id(scope.section) }
    func place(_ entry: FeedDifference.Entry) -> DecodedEntries.Entry {
      DecodedEntries.Entry(
        id: table.id(entry.handle),
        fromSection: section(entry.fromScope),
        from: entry.from.number,
        toSection: section(entry.toScope),
        to: entry.to.number
      )
    }
    func withContent(_ entry: FeedDifference.Entry) -> DecodedEntries.Entry {
      var decoded = place(entry)
      decoded.fields = fields(entry.handle)
      return decoded
    }
    self.init()
    for kind in EntryKind.allCases {
      self[kind] = entries[kind].map(kind == .delete || kind == .move ? place : withContent)
    }
  }
}
