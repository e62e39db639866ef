/// The entries of a difference, joined from all its parts. Spans point into the records.
package struct DecodedEntries {
  /// One entry; fields that its list lacks stay empty or -1.
  package struct Entry {
    package var id = ByteSpan.empty
    package var fromSection = ByteSpan.empty
    package var from: Int32 = -1
    package var toSection = ByteSpan.empty
    package var to: Int32 = -1
    package var fields = ElementFields()
  }

  package typealias Lists = EntryLists<Entry>

  package private(set) var sections = Lists()
  package internal(set) var items = Lists()

  /// The weight for the planner: the entries other than reconfigures.
  package var weight: Int { sections.weight + items.weight }
  package var itemReloadCount: Int { items[.reload].count }

  package init() {}

  init(sections: Lists, items: Lists) {
    self.sections = sections
    self.items = items
  }

  /// Adds the lists of a record; after an error the lists are not valid.
  package mutating func append(_ record: DecodedChangeset) throws(ReplicaFault) {
    if record.sections.first != 0 { try append(record, record.sections, isOfItems: false, to: &sections) }
    if record.items.first != 0 { try append(record, record.items, isOfItems: true, to: &items) }
  }

  private func append(
    _ record: DecodedChangeset,
    _ field: DecodedChangeset.Field,
    isOfItems: Bool,
    to lists: inout Lists
  ) throws(ReplicaFault) {
    // Moved, not copied.
    var read = Lists()
    swap(&read, &lists)
    var starts = InlineArray<5, Int>(repeating: 0)
    for kind in EntryKind.allCases { starts[kind.rawValue] = read[kind].count }
    try record.forEachMember(field) { name, list throws(ReplicaFault) in
      guard let kind = EntryKind.allCases.first(where: { name.matches($0.name) }) else { return }
      // Of lists with the same name the last one counts.
      read[kind].removeSubrange(starts[kind.rawValue]...)
      try record.forEachElement(list) { element throws(ReplicaFault) in
        var entry = try DecodedEntries.entry(record, element, kind, isOfItems: isOfItems)
        try DecodedEntries.checkContent(entry, kind, isOfItems: isOfItems)
        if kind == .delete { (entry.fromSection, entry.from) = (entry.toSection, entry.to) }
        read[kind].append(entry)
      }
    }
    lists = read
  }

  private static func entry(
    _ record: DecodedChangeset,
    _ element: DecodedChangeset.Field,
    _ kind: EntryKind,
    isOfItems: Bool
  ) throws(ReplicaFault) -> Entry {
    var entry = Entry()
    let hasContent = kind != .delete && kind != .move
    // The value of an ignored field is not checked.
    try record.forEachMember(element) { name, field throws(ReplicaFault) in
      if name.matches("id") {
        entry.id = try record.string(name, field)
      } else if kind == .move {
        if name.matches("from") {
          (entry.fromSection, entry.from) = try position(record, name, field, isOfItems: isOfItems)
        } else if name.matches("to") {
          (entry.toSection, entry.to) = try position(record, name, field, isOfItems: isOfItems)
        }
      } else if isOfItems, name.matches("section") {
        entry.toSection = try record.string(name, field)
      } else if name.matches("index") {
        entry.to = try index(record, name, field)
      } else if hasContent, kind != .reconfigure || !isOfItems || !name.matches("kind") {
        _ = try entry.fields.read(name, field, of: record, isItem: isOfItems)
      }
    }
    entry.fields.complete(isItem: isOfItems)
    guard (1...255).contains(entry.id.count), entry.fields.isWithinLimits else {
      throw ReplicaFault("an entry's id must have 1 to 255 bytes, and its kind at most 255")
    }
    return entry
  }

  /// Inserted, reconfigured and reloaded elements need data, and new items a kind.
  private static func checkContent(
    _ entry: Entry,
    _ kind: EntryKind,
    isOfItems: Bool
  ) throws(ReplicaFault) {
    if kind == .delete || kind == .move { return }
    guard entry.fields.isWhole(isItem: isOfItems && kind != .reconfigure) else {
      throw ReplicaFault("an entry for \(entry.id.quotedForMessage()) lacks its kind or data")
    }
  }

  private static func index(
    _ record: DecodedChangeset,
    _ name: ByteSpan,
    _ field: DecodedChangeset.Field
  ) throws(ReplicaFault) -> Int32 {
    guard let index = Int32(exactly: try record.integer(name, field)) else {
      throw record.invalid(name, field)
    }
    return index
  }

  private static func position(
    _ record: DecodedChangeset,
    _ name: ByteSpan,
    _ field: DecodedChangeset.Field,
    isOfItems: Bool
  ) throws(ReplicaFault) -> (ByteSpan, Int32) {
    guard isOfItems else { return (.empty, try index(record, name, field)) }
    var section = ByteSpan.empty
    var position: Int32 = -1
    try record.forEachMember(field) { name, value throws(ReplicaFault) in
      if name.matches("section") {
        section = try record.string(name, value)
      } else if name.matches("index") {
        position = try index(record, name, value)
      }
    }
    return (section, position)
  }
}
