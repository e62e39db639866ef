extension SnapshotDifference {
  /// The entries of a changeset that was applied, with copies of what they name.
  init(_ entries: DecodedEntries) {
    self.init(sections: SectionChanges(entries.sections), items: ItemChanges(entries.items))
  }
}

extension SectionChanges {
  fileprivate init(_ lists: DecodedEntries.Lists) {
    self.init()
    deletes = lists.deletes.map { Delete(id: SectionIdentifier($0.id), index: Int($0.from)) }
    inserts = lists.inserts.map(SectionChanges.entry)
    moves = lists.moves.map { Move(id: SectionIdentifier($0.id), from: Int($0.from), to: Int($0.to)) }
    reconfigures = lists.reconfigures.map(SectionChanges.entry)
    reloads = lists.reloads.map(SectionChanges.entry)
  }

  private static func entry(_ entry: DecodedEntries.Entry) -> Entry {
    Entry(id: SectionIdentifier(entry.id), index: Int(entry.to), data: JSONData(entry))
  }
}

extension ItemChanges {
  fileprivate init(_ lists: DecodedEntries.Lists) {
    self.init()
    deletes = lists.deletes.map { Delete(id: ItemIdentifier($0.id), position: $0.base) }
    inserts = lists.inserts.map(ItemChanges.entry)
    moves = lists.moves.map { Move(id: ItemIdentifier($0.id), from: $0.base, to: $0.result) }
    reconfigures = lists.reconfigures.map {
      Reconfigure(id: ItemIdentifier($0.id), position: $0.result, data: JSONData($0))
    }
    reloads = lists.reloads.map(ItemChanges.entry)
  }

  private static func entry(_ entry: DecodedEntries.Entry) -> Entry {
    Entry(
      id: ItemIdentifier(entry.id),
      position: entry.result,
      kind: ItemKind(entry.fields.kind ?? .empty),
      data: JSONData(entry)
    )
  }
}

extension DecodedEntries.Entry {
  /// Where it was.
  fileprivate var base: ItemPosition {
    ItemPosition(section: SectionIdentifier(fromSection), index: Int(from))
  }
  /// Where it is.
  fileprivate var result: ItemPosition { ItemPosition(section: SectionIdentifier(toSection), index: Int(to)) }
}

extension JSONData {
  fileprivate init(_ entry: DecodedEntries.Entry) { self.init(checked: entry.fields.data ?? FeedState.null) }
}
