import Feed

/// Visits what a record of a reload lists, in its order.
enum ReloadWalk {
  struct Section {
    var id = ByteSpan.empty
    /// Nil where the section continues an earlier part's.
    var data: ByteSpan?
    var hasItems = false
  }

  struct Item {
    var id = ByteSpan.empty
    var kind = ByteSpan.empty
    var data = ByteSpan("null")
  }

  static func forEach(
    _ record: DecodedChangeset,
    section: (Section) throws(Violation) -> Void,
    item: (Item) throws(Violation) -> Void,
    sectionEnd: () -> Void = {}
  ) throws(Violation) {
    guard record.sections.first != 0 else { return }
    var fields: [DecodedChangeset.Field] = []
    try Violation.from { () throws(ReplicaFault) in
      try record.forEachElement(record.sections) { fields.append($0) }
    }
    for field in fields {
      let (found, items) = try read(section: field, record)
      try section(found)
      if items.first != 0 {
        // Not `forEachElement` of the record, whose closure throws something else.
        guard record.text.character(items.first) == UInt8(ascii: "[") else {
          throw Violation("the items of section \(found.id.quotedForMessage()) are not an array")
        }
        try record.text.forEachElement(of: items.first) { element throws(Violation) in
          try item(try read(item: element, record))
        }
      }
      sectionEnd()
    }
  }

  private static func read(
    section field: DecodedChangeset.Field,
    _ record: DecodedChangeset
  ) throws(Violation) -> (Section, items: DecodedChangeset.Field) {
    var section = Section()
    var items: DecodedChangeset.Field = (0, 0)
    try Violation.from { () throws(ReplicaFault) in
      try record.forEachMember(field) { name, value throws(ReplicaFault) in
        if name.matches("id") {
          section.id = try record.string(name, value)
        } else if name.matches("data") {
          section.data = record.data(value)
        } else if name.matches("items") {
          section.hasItems = true
          items = value
        }
      }
    }
    return (section, items)
  }

  private static func read(
    item field: DecodedChangeset.Field,
    _ record: DecodedChangeset
  ) throws(Violation) -> Item {
    var item = Item()
    try Violation.from { () throws(ReplicaFault) in
      try record.forEachMember(field) { name, value throws(ReplicaFault) in
        if name.matches("id") {
          item.id = try record.string(name, value)
        } else if name.matches("kind") {
          item.kind = try record.string(name, value)
        } else if name.matches("data") {
          item.data = record.data(value)
        }
      }
    }
    return item
  }
}
