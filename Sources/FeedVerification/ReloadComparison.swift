import Feed

/// Compares a reload with a replica's state, element by element, so that no second state is needed.
struct ReloadComparison {
  private let state: FeedState
  private var sections: CurrentCursor
  private var items: CurrentCursor?
  private var section = ByteSpan.empty
  private var sectionNumber = 0
  private var itemNumber = 0
  /// The first difference, in words.
  private(set) var difference: String?
  /// Items of the reload that are also in the state, at any position.
  private(set) var commonItems = 0
  private(set) var itemCount = 0
  private let countsCommonItems: Bool

  /// - Parameter state: must not change while the comparison is used.
  init(_ state: FeedState, countsCommonItems: Bool) {
    self.state = state
    self.countsCommonItems = countsCommonItems
    sections = state.sectionCursor
  }

  mutating func take(section found: ReloadedElement) {
    // A section that continues in this part keeps its position.
    if found.fields.isEmpty { return }
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
    if let fault = found.fields.mismatch(with: state.fields(section: handle)) {
      return note(
        "section \(section.quotedForMessage()) has \(fault.name) \(fault.found), expected \(fault.expected)"
      )
    }
    sectionNumber += 1
    itemNumber = 0
    items = state.itemCursor(of: handle)
  }

  mutating func take(item found: ReloadedElement) {
    itemCount += 1
    if countsCommonItems, state.hasItem(found.id) { commonItems += 1 }
    if difference != nil { return }
    let place = "item \(itemNumber) of section \(section.quotedForMessage())"
    guard let handle = items?.next() else {
      return note("\(place) is \(found.id.quotedForMessage()), expected no more")
    }
    let expectedID = state.itemID(handle)
    itemNumber += 1
    if !expectedID.hasSameBytes(as: found.id) {
      note("\(place) is \(found.id.quotedForMessage()), expected \(expectedID.quotedForMessage())")
    } else if let fault = found.fields.mismatch(with: state.fields(item: handle)) {
      note(
        "item \(found.id.quotedForMessage()) has \(fault.name) \(fault.found), expected \(fault.expected)"
      )
    }
  }

  /// Ends the comparison.
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

/// Visits the elements of a reload's record, in its order.
enum ReloadWalk {
  static func forEach(
    _ record: DecodedChangeset,
    section: (ReloadedElement) throws(Violation) -> Void,
    item: (ReloadedElement) throws(Violation) -> Void
  ) throws(Violation) {
    guard record.sections.first != 0 else { return }
    try record.forEachElement(record.sections) { field throws(Violation) in
      let found = try ReloadedElement(field, of: record, isItem: false)
      try section(found)
      if found.items.first == 0 { return }
      try require(record.text.character(found.items.first) == UInt8(ascii: "[")) {
        "the items of section \(found.id.quotedForMessage()) are not an array"
      }
      try record.forEachElement(found.items) { element throws(Violation) in
        let listed = try ReloadedElement(element, of: record, isItem: true)
        try require(listed.fields.isWhole(isItem: true)) {
          "item \(listed.id.quotedForMessage()) lacks its kind or data"
        }
        try item(listed)
      }
    }
  }
}
