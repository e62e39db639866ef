/// The entries of a difference, joined from all its parts. Spans point into the records.
package struct DecodedEntries {
  /// One entry; what its list does not have stays empty or -1.
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

  /// What the planner weighs: the entries other than reconfigures.
  package var weight: Int { sections.weight + items.weight }
  package var itemReloadCount: Int { items.reloads.count }

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
    // Taken out, not copied.
    var read = Lists()
    swap(&read, &lists)
    let starts = (
      read.deletes.count, read.inserts.count, read.moves.count, read.reconfigures.count, read.reloads.count
    )
    try record.forEachMember(field) { name, list throws(ReplicaFault) in
      func append(to entries: inout [Entry], from start: Int) throws(ReplicaFault) {
        // Of lists with the same name the last one counts.
        entries.removeSubrange(start...)
        try record.forEachElement(list) { element throws(ReplicaFault) in
          let entry = try DecodedEntries.entry(record, element, isOfItems: isOfItems)
          try DecodedEntries.checkContent(entry, of: name, isOfItems: isOfItems)
          entries.append(entry)
        }
      }
      if name.matches("delete") {
        try append(to: &read.deletes, from: starts.0)
        for index in starts.0..<read.deletes.count {
          read.deletes[index].fromSection = read.deletes[index].toSection
          read.deletes[index].from = read.deletes[index].to
        }
      } else if name.matches("insert") {
        try append(to: &read.inserts, from: starts.1)
      } else if name.matches("move") {
        try append(to: &read.moves, from: starts.2)
      } else if name.matches("reconfigure") {
        try append(to: &read.reconfigures, from: starts.3)
      } else if name.matches("reload") {
        try append(to: &read.reloads, from: starts.4)
      }
    }
    lists = read
  }

  private static func entry(
    _ record: DecodedChangeset,
    _ element: DecodedChangeset.Field,
    isOfItems: Bool
  ) throws(ReplicaFault) -> Entry {
    var entry = Entry()
    try record.forEachMember(element) { name, field throws(ReplicaFault) in
      if name.matches("id") {
        entry.id = try record.string(name, field)
      } else if name.matches("section") {
        entry.toSection = try record.string(name, field)
      } else if name.matches("index") {
        entry.to = try index(record, name, field)
      } else if try entry.fields.read(name, field, of: record, isItem: isOfItems) {
        return
      } else if name.matches("from") {
        (entry.fromSection, entry.from) = try position(record, name, field, isOfItems: isOfItems)
      } else if name.matches("to") {
        (entry.toSection, entry.to) = try position(record, name, field, isOfItems: isOfItems)
      }
    }
    if !isOfItems { entry.fields = entry.fields.ofWholeSection }
    guard (1...255).contains(entry.id.count), entry.fields.isWithinLimits else {
      throw ReplicaFault("an entry's id must have 1 to 255 bytes, and its kind at most 255")
    }
    return entry
  }

  /// What is inserted, reconfigured or reloaded has data, and an item that is made its kind.
  private static func checkContent(
    _ entry: Entry,
    of list: ByteSpan,
    isOfItems: Bool
  ) throws(ReplicaFault) {
    let isReconfigured = list.matches("reconfigure")
    guard isReconfigured || list.matches("insert") || list.matches("reload") else { return }
    guard entry.fields.isWhole(isItem: isOfItems && !isReconfigured) else {
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
