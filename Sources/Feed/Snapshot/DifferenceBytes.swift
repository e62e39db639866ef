import Glibc

/// Lends a difference's texts to the entries that a state applies, whose spans need an owner.
final class DifferenceBytes {
  private let arena = ScratchArena(capacity: 1024)

  /// The entries of a difference; valid as long as this object lives.
  func entries(of difference: SnapshotDifference) -> DecodedEntries {
    DecodedEntries(sections: lists(difference.sections), items: lists(difference.items))
  }

  private func span(_ text: ByteText) -> ByteSpan {
    text.withBytes { bytes in
      let copy = arena.allocate(bytes.count)
      memcpy(copy, bytes.base, bytes.count)
      return ByteSpan(UnsafePointer(copy), bytes.count)
    }
  }

  /// A position as entries count them; what is out of their range fits no list.
  private func index(_ index: Int) -> Int32 { index < 0 ? Int32.max : Int32(clamping: index) }

  // MARK: Sections

  private func lists(_ changes: SectionChanges) -> DecodedEntries.Lists {
    var lists = DecodedEntries.Lists()
    lists.deletes = changes.deletes.map { entry($0.id, from: $0.index) }
    lists.inserts = changes.inserts.map(entry)
    lists.moves = changes.moves.map { entry($0.id, from: $0.from, to: $0.to) }
    lists.reconfigures = changes.reconfigures.map(entry)
    lists.reloads = changes.reloads.map(entry)
    return lists
  }

  private func entry(_ id: SectionIdentifier, from: Int = -1, to: Int = -1) -> DecodedEntries.Entry {
    DecodedEntries.Entry(id: span(id.text), from: index(from), to: index(to))
  }

  private func entry(_ section: SectionChanges.Entry) -> DecodedEntries.Entry {
    var entry = entry(section.id, to: section.index)
    entry.fields.data = span(section.data.text)
    return entry
  }

  // MARK: Items

  private func lists(_ changes: ItemChanges) -> DecodedEntries.Lists {
    var lists = DecodedEntries.Lists()
    lists.deletes = changes.deletes.map { entry($0.id, from: $0.position) }
    lists.inserts = changes.inserts.map(entry)
    lists.moves = changes.moves.map { entry($0.id, from: $0.from, to: $0.to) }
    lists.reconfigures = changes.reconfigures.map { reconfigure in
      var entry = entry(reconfigure.id, to: reconfigure.position)
      entry.fields.data = span(reconfigure.data.text)
      return entry
    }
    lists.reloads = changes.reloads.map(entry)
    return lists
  }

  private func entry(
    _ id: ItemIdentifier,
    from: ItemPosition? = nil,
    to: ItemPosition? = nil
  ) -> DecodedEntries.Entry {
    var entry = DecodedEntries.Entry(id: span(id.text))
    if let from { (entry.fromSection, entry.from) = (span(from.section.text), index(from.index)) }
    if let to { (entry.toSection, entry.to) = (span(to.section.text), index(to.index)) }
    return entry
  }

  private func entry(_ item: ItemChanges.Entry) -> DecodedEntries.Entry {
    var entry = entry(item.id, to: item.position)
    entry.fields = ElementFields(kind: span(item.kind.text), data: span(item.data.text))
    return entry
  }
}
