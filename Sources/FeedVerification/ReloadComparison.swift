import Feed

/// Compares what a reload lists with the state that a replica has, element by element, so that no second
/// state is needed.
struct ReloadComparison {
  private let state: FeedState
  private var sections: CurrentCursor
  private var items: CurrentCursor?
  private var section = ByteSpan.empty
  private var sectionNumber = 0
  private var itemNumber = 0
  /// The first difference, in words.
  private(set) var difference: String?
  /// Items of the reload that the state has too, in whatever place.
  private(set) var commonItems = 0
  private(set) var itemCount = 0
  private let countsCommonItems: Bool

  /// - Parameter state: must not change while this is used.
  init(_ state: FeedState, countsCommonItems: Bool) {
    self.state = state
    self.countsCommonItems = countsCommonItems
    sections = state.sectionCursor
  }

  mutating func take(section found: ReloadWalk.Section) {
    // A section that goes on in this part is where the last one left it.
    guard let data = found.data else { return }
    if difference != nil { return }
    endSection()
    if difference != nil { return }
    guard let handle = sections.next() else {
      return note("section \(sectionNumber) is \(found.id.quotedForMessage()), expected no more")
    }
    section = state.sectionID(handle)
    guard section.hasSameBytes(as: found.id) else {
      return note(
        "section \(sectionNumber) is \(found.id.quotedForMessage()), "
          + "expected \(section.quotedForMessage())"
      )
    }
    let expected = state.sectionData(handle)
    guard expected.hasSameBytes(as: data) else {
      return note(
        "section \(section.quotedForMessage()) has data \(data.valueForMessage()), "
          + "expected \(expected.valueForMessage())"
      )
    }
    sectionNumber += 1
    itemNumber = 0
    items = state.itemCursor(of: handle)
  }

  mutating func take(item found: ReloadWalk.Item) {
    itemCount += 1
    if countsCommonItems, state.hasItem(found.id) { commonItems += 1 }
    if difference != nil { return }
    let place = "item \(itemNumber) of section \(section.quotedForMessage())"
    guard let handle = items?.next() else {
      return note("\(place) is \(found.id.quotedForMessage()), expected no more")
    }
    let expectedID = state.itemID(handle)
    let expectedKind = state.itemKind(handle)
    let expectedData = state.itemData(handle)
    itemNumber += 1
    if !expectedID.hasSameBytes(as: found.id) {
      note("\(place) is \(found.id.quotedForMessage()), expected \(expectedID.quotedForMessage())")
    } else if !expectedKind.hasSameBytes(as: found.kind) {
      note(
        "item \(found.id.quotedForMessage()) has kind \(found.kind.quotedForMessage()), "
          + "expected \(expectedKind.quotedForMessage())"
      )
    } else if !expectedData.hasSameBytes(as: found.data) {
      note(
        "item \(found.id.quotedForMessage()) has data \(found.data.valueForMessage()), "
          + "expected \(expectedData.valueForMessage())"
      )
    }
  }

  /// The reload is complete.
  mutating func end() {
    if difference != nil { return }
    endSection()
    if difference == nil, let missing = sections.peek() {
      note("section \(state.sectionID(missing).quotedForMessage()) is missing")
    }
  }

  private mutating func endSection() {
    guard let missing = items?.peek() else { return }
    note(
      "item \(state.itemID(missing).quotedForMessage()) of section "
        + "\(section.quotedForMessage()) is missing"
    )
  }

  private mutating func note(_ words: String) { difference = words }
}

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
    item: (Item) throws(Violation) -> Void
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
