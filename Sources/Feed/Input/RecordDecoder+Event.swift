/// The names of an item list's fields, for messages.
private struct ItemListFields {
  let list: StaticString
  let id: StaticString
  let kind: StaticString
  let data: StaticString

  static let ofSection = ItemListFields(list: "items", id: "items.id", kind: "items.kind", data: "items.data")
  static let ofFeed = ItemListFields(
    list: "sections.items",
    id: "sections.items.id",
    kind: "sections.items.kind",
    data: "sections.items.data"
  )
}

/// Where each known field's value is; a first token of 0 means absent.
private struct EventFields {
  var op = (0, 0)
  var item = (0, 0)
  var section = (0, 0)
  var kind = (0, 0)
  var data = (0, 0)
  var at = (0, 0)
  var items = (0, 0)
  var sections = (0, 0)

  /// Reads the names of an object's members; of duplicates the last counts. Not an initializer, which would own, and so count,
  /// what it is handed.
  mutating func read(_ object: Int, in text: JSONText, _ arena: ScratchArena) {
    text.forEachMember(of: object, arena: arena) { name, value in
      switch name.count {
      case 2:
        if name.matches("op") { op = value } else if name.matches("at") { at = value }
      case 4:
        if name.matches("item") {
          item = value
        } else if name.matches("data") {
          data = value
        } else if name.matches("kind") {
          kind = value
        }
      case 5: if name.matches("items") { items = value }
      case 7: if name.matches("section") { section = value }
      case 8: if name.matches("sections") { sections = value }
      default: break
      }
    }
  }
}

/// The form of one event: its fields, each checked in the order of the protocol's table.
///
/// The text goes from method to method and is not kept, as keeping it would count its references for every record.
extension RecordDecoder {
  /// The event, if its form is right.
  ///
  /// - Parameter object: its first token.
  func event(of object: Int, in text: JSONText) throws(Rejection) -> Event {
    var fields = EventFields()
    fields.read(object, in: text, arena)
    guard fields.op.0 != 0 else { throw missing("op") }
    guard text.character(fields.op.0) == UInt8(ascii: "\"") else {
      throw invalid("op", "must be a string", fields.op, text)
    }
    let name = text.string(fields.op.0, arena: arena)
    guard let operation = Operation(name: name) else {
      throw Rejection(
        .unknownOp,
        event: eventNumber,
        field: "op",
        problem: "names no operation of this protocol",
        value: name
      )
    }
    var event = Event(operation: operation)
    switch operation {
    case .feedClear, .feedDelete, .feedReload: break
    case .feedReplace:
      event.sections = try listedSections(fields.sections, text)
    case .sectionUpsert:
      event.section = try identifier("section", fields.section, text)
      event.data = try optionalData("data", fields.data, text)
      event.place = try optionalPlace(fields.at, text)
    case .sectionReplace:
      event.section = try identifier("section", fields.section, text)
      guard fields.items.0 != 0 else { throw missing("items") }
      beginItemList()
      event.items = try listedItems(fields.items, fields: .ofSection, text)
      event.data = try optionalData("data", fields.data, text)
      event.place = try optionalPlace(fields.at, text)
    case .sectionMove:
      event.section = try identifier("section", fields.section, text)
      guard fields.at.0 != 0 else { throw missing("at") }
      event.place = try optionalPlace(fields.at, text)
    case .sectionDelete, .sectionReload:
      event.section = try identifier("section", fields.section, text)
    case .itemUpsert:
      event.item = try identifier("item", fields.item, text)
      event.section = try optionalIdentifier("section", fields.section, text)
      event.kind = try optionalKind("kind", fields.kind, text)
      event.data = try optionalData("data", fields.data, text)
      event.place = try optionalPlace(fields.at, text)
    case .itemPatch:
      event.item = try identifier("item", fields.item, text)
      guard fields.data.0 != 0 else { throw missing("data") }
      event.data = try optionalData("data", fields.data, text)
    case .itemMove:
      event.item = try identifier("item", fields.item, text)
      event.section = try optionalIdentifier("section", fields.section, text)
      event.place = try optionalPlace(fields.at, text)
    case .itemDelete, .itemReconfigure, .itemReload:
      event.item = try identifier("item", fields.item, text)
    }
    return event
  }

  // MARK: Fields

  private func missing(_ field: StaticString) -> Rejection {
    Rejection(
      .missingField,
      event: eventNumber,
      field: field,
      problem: "is missing; this operation requires it"
    )
  }

  private func invalid(
    _ field: StaticString,
    _ problem: String,
    _ value: JSONText.Field,
    _ text: JSONText
  ) -> Rejection {
    Rejection(
      .invalidField,
      event: eventNumber,
      field: field,
      problem: problem,
      value: text.span(from: value.0, to: value.1)
    )
  }

  private func identifier(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan {
    guard value.0 != 0 else { throw missing(field) }
    guard text.character(value.0) == UInt8(ascii: "\"") else {
      throw invalid(field, "must be a string", value, text)
    }
    let id = text.string(value.0, arena: arena)
    guard !id.isEmpty else { throw invalid(field, "must not be empty", value, text) }
    try checkLength(id, field)
    return id
  }

  private func checkLength(_ id: ByteSpan, _ field: StaticString) throws(Rejection) {
    guard id.count <= limits.maxIdBytes else {
      throw Rejection(
        .limitExceeded,
        event: eventNumber,
        field: field,
        problem: "has \(id.count) bytes, more than limits.maxIdBytes (\(limits.maxIdBytes))",
        value: id
      )
    }
  }

  private func optionalIdentifier(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan {
    value.0 == 0 ? .empty : try identifier(field, value, text)
  }

  private func optionalKind(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan? {
    guard value.0 != 0 else { return nil }
    guard text.character(value.0) == UInt8(ascii: "\"") else {
      throw invalid(field, "must be a string", value, text)
    }
    let kind = text.string(value.0, arena: arena)
    try checkLength(kind, field)
    return kind
  }

  private func optionalData(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan? {
    guard value.0 != 0 else { return nil }
    let data = text.compactSpan(from: value.0, to: value.1, arena: arena)
    guard data.count <= limits.maxDataBytes else {
      throw Rejection(
        .limitExceeded,
        event: eventNumber,
        field: field,
        problem: "has \(data.count) bytes, more than limits.maxDataBytes (\(limits.maxDataBytes))",
        value: data
      )
    }
    return data
  }

  private func optionalPlace(_ at: JSONText.Field, _ text: JSONText) throws(Rejection) -> Place? {
    guard at.0 != 0 else { return nil }
    let form =
      #"must be "first", "last", {"before": id}, {"after": id} or {"index": n} with n an integer >= 0"#
    if text.character(at.0) == UInt8(ascii: "\"") {
      let name = text.string(at.0, arena: arena)
      if name.matches("first") { return .first }
      if name.matches("last") { return .last }
      throw invalid("at", form, at, text)
    }
    guard text.character(at.0) == UInt8(ascii: "{") else { throw invalid("at", form, at, text) }
    let (before, after, index) = members("before", "after", "index", of: at.0, text)
    switch (before.0 != 0, after.0 != 0, index.0 != 0) {
    case (true, false, false): return .before(try identifier("at.before", before, text))
    case (false, true, false): return .after(try identifier("at.after", after, text))
    case (false, false, true):
      guard let value = plainIndex(index, text) else { throw invalid("at", form, at, text) }
      return .index(value)
    default: throw invalid("at", form, at, text)
    }
  }

  /// A plain decimal integer >= 0; one too large to count is as good as the largest.
  private func plainIndex(_ value: JSONText.Field, _ text: JSONText) -> Int? {
    let digits = text.span(from: value.0, to: value.1)
    guard digits.buffer.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return text.integer(value.0).map(Int.init) ?? Int.max
  }

  /// The values of an object's members of three names; a first token of 0 means absent, and of duplicates the last counts.
  @inline(__always)
  private func members(
    _ first: StaticString,
    _ second: StaticString,
    _ third: StaticString,
    of object: Int,
    _ text: JSONText
  ) -> (JSONText.Field, JSONText.Field, JSONText.Field) {
    var values: (JSONText.Field, JSONText.Field, JSONText.Field) = ((0, 0), (0, 0), (0, 0))
    text.forEachMember(of: object, arena: arena) { name, value in
      if name.matches(first) {
        values.0 = value
      } else if name.matches(second) {
        values.1 = value
      } else if name.matches(third) {
        values.2 = value
      }
    }
    return values
  }

  // MARK: Lists

  private func listedItems(
    _ list: JSONText.Field,
    fields: ItemListFields,
    _ text: JSONText
  ) throws(Rejection) -> Range<Int> {
    guard text.character(list.0) == UInt8(ascii: "[") else {
      throw invalid(fields.list, "must be an array", list, text)
    }
    try checkItemCount(of: list, fields.list, text)
    let start = items.count
    try text.forEachElement(of: list.0) { element throws(Rejection) in
      append(try listedItem(element, fields: fields, text))
    }
    return start..<items.count
  }

  private func listedItem(
    _ element: JSONText.Field,
    fields: ItemListFields,
    _ text: JSONText
  ) throws(Rejection) -> ListedItem {
    switch text.character(element.0) {
    case UInt8(ascii: "\""):
      let (id, hash) = try newItem(fields.list, element, text)
      return ListedItem(id: id, hash: hash, kind: nil, data: nil)
    case UInt8(ascii: "{"):
      let (idValue, kindValue, dataValue) = members("id", "kind", "data", of: element.0, text)
      let (id, hash) = try newItem(fields.id, idValue, text)
      let kind = try optionalKind(fields.kind, kindValue, text)
      let data = try optionalData(fields.data, dataValue, text)
      return ListedItem(id: id, hash: hash, kind: kind, data: data)
    default:
      throw invalid(fields.list, "must list objects with an id, or ids", element, text)
    }
  }

  /// The identifier of a listed item, which must not be in the list yet.
  private func newItem(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> (ByteSpan, UInt32) {
    let id = try identifier(field, value, text)
    let hash = ByteHash.of(id)
    guard !isListed(item: id, hash) else {
      throw Rejection(
        .duplicateID,
        event: eventNumber,
        field: field,
        problem: "lists an item twice",
        value: id
      )
    }
    return (id, hash)
  }

  private func listedSections(_ list: JSONText.Field, _ text: JSONText) throws(Rejection) -> Range<Int> {
    guard list.0 != 0 else { throw missing("sections") }
    guard text.character(list.0) == UInt8(ascii: "[") else {
      throw invalid("sections", "must be an array", list, text)
    }
    try checkSectionCount(of: list, text)
    beginItemList()
    beginSectionList()
    let start = sections.count
    try text.forEachElement(of: list.0) { element throws(Rejection) in
      append(try listedSection(element, text))
    }
    return start..<sections.count
  }

  private func listedSection(_ element: JSONText.Field, _ text: JSONText) throws(Rejection) -> ListedSection {
    guard text.character(element.0) == UInt8(ascii: "{") else {
      throw invalid("sections", "must list objects with an id", element, text)
    }
    let (idValue, dataValue, itemsValue) = members("id", "data", "items", of: element.0, text)
    let id = try identifier("sections.id", idValue, text)
    let hash = ByteHash.of(id)
    guard !isListed(section: id, hash) else {
      throw Rejection(
        .duplicateID,
        event: eventNumber,
        field: "sections.id",
        problem: "lists a section twice",
        value: id
      )
    }
    let data = try optionalData("sections.data", dataValue, text)
    let items =
      itemsValue.0 == 0
      ? items.count..<items.count : try listedItems(itemsValue, fields: .ofFeed, text)
    return ListedSection(id: id, hash: hash, data: data, items: items)
  }
}
