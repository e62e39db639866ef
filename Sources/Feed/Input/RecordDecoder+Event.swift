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
  var op = Tokens()
  var item = Tokens()
  var section = Tokens()
  var kind = Tokens()
  var data = Tokens()
  var at = Tokens()
  var items = Tokens()
  var sections = Tokens()

  /// A field in half the room, as there are many of these.
  struct Tokens {
    private var first: UInt32 = 0
    private var end: UInt32 = 0

    @inline(__always)
    init() {}

    @inline(__always)
    init(_ field: JSONText.Field) {
      first = UInt32(truncatingIfNeeded: field.first)
      end = UInt32(truncatingIfNeeded: field.end)
    }

    @inline(__always)
    var field: JSONText.Field { (Int(first), Int(end)) }
    var isAbsent: Bool { first == 0 }
  }

  /// Reads the names of an object's members; of duplicates the last counts. Not an initializer, which would own, and so count,
  /// what it is handed.
  @inline(__always)
  mutating func read(_ object: Int, in text: JSONText, _ arena: ScratchArena) {
    if text.isPlain { readPlain(object, text) } else { readAny(object, text, arena) }
  }

  @inline(never)
  private mutating func readAny(_ object: Int, _ text: JSONText, _ arena: ScratchArena) {
    text.forEachMember(of: object, arena: arena) { name, value in set(name, value) }
  }

  /// Does the same for a text without escapes and white space, without a look at what makes those special.
  @inline(__always)
  private mutating func readPlain(_ object: Int, _ text: JSONText) {
    let (base, offsets, closings) = (text.bytes.base, text.offsets, text.closings)
    var token = object + 1
    while base[Int(offsets[token])] != UInt8(ascii: "}") {
      let start = Int(offsets[token]) + 1
      let name = ByteSpan(base + start, Int(offsets[token + 1]) - 1 - start)
      let value = token + 2
      let first = base[Int(offsets[value])]
      let isOpen = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
      let end = (isOpen ? Int(closings[value]) : value) + 1
      set(name, (value, end))
      token = base[Int(offsets[end])] == UInt8(ascii: ",") ? end + 1 : end
    }
  }

  @inline(__always)
  private mutating func set(_ name: ByteSpan, _ value: JSONText.Field) {
    let tokens = Tokens(value)
    switch name.count {
    case 2:
      if name.matches("op") { op = tokens } else if name.matches("at") { at = tokens }
    case 4:
      if name.matches("item") {
        item = tokens
      } else if name.matches("data") {
        data = tokens
      } else if name.matches("kind") {
        kind = tokens
      }
    case 5: if name.matches("items") { items = tokens }
    case 7: if name.matches("section") { section = tokens }
    case 8: if name.matches("sections") { sections = tokens }
    default: break
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
  @inline(__always)
  func event(of object: Int, in text: JSONText) throws(Rejection) -> Event {
    var fields = EventFields()
    fields.read(object, in: text, arena)
    guard !fields.op.isAbsent else { throw missing("op") }
    let op = fields.op.field
    guard text.character(op.0) == UInt8(ascii: "\"") else {
      throw invalid("op", "must be a string", op, text)
    }
    let name = text.string(op.0, arena: arena)
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
      event.sections = try listedSections(fields.sections.field, text)
    case .sectionUpsert:
      event.section = try identifier("section", fields.section.field, text)
      event.data = try optionalData("data", fields.data.field, text)
      event.place = try optionalPlace(fields.at.field, text)
    case .sectionReplace:
      event.section = try identifier("section", fields.section.field, text)
      guard !fields.items.isAbsent else { throw missing("items") }
      beginItemList()
      event.items = try listedItems(fields.items.field, fields: .ofSection, text)
      event.data = try optionalData("data", fields.data.field, text)
      event.place = try optionalPlace(fields.at.field, text)
    case .sectionMove:
      event.section = try identifier("section", fields.section.field, text)
      guard !fields.at.isAbsent else { throw missing("at") }
      event.place = try optionalPlace(fields.at.field, text)
    case .sectionDelete, .sectionReload:
      event.section = try identifier("section", fields.section.field, text)
    case .itemUpsert:
      event.item = try identifier("item", fields.item.field, text)
      event.section = try optionalIdentifier("section", fields.section.field, text)
      event.kind = try optionalKind("kind", fields.kind.field, text)
      event.data = try optionalData("data", fields.data.field, text)
      event.place = try optionalPlace(fields.at.field, text)
    case .itemPatch:
      event.item = try identifier("item", fields.item.field, text)
      guard !fields.data.isAbsent else { throw missing("data") }
      event.data = try optionalData("data", fields.data.field, text)
    case .itemMove:
      event.item = try identifier("item", fields.item.field, text)
      event.section = try optionalIdentifier("section", fields.section.field, text)
      event.place = try optionalPlace(fields.at.field, text)
    case .itemDelete, .itemReconfigure, .itemReload:
      event.item = try identifier("item", fields.item.field, text)
    }
    return event
  }

  // MARK: Fields

  @inline(never)
  private func missing(_ field: StaticString) -> Rejection {
    Rejection(
      .missingField,
      event: eventNumber,
      field: field,
      problem: "is missing; this operation requires it"
    )
  }

  @inline(never)
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

  @inline(__always)
  private func identifier(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan {
    guard value.0 != 0, text.character(value.0) == UInt8(ascii: "\"") else {
      throw identifierFault(field, value, text)
    }
    let id = text.string(value.0, arena: arena)
    guard !id.isEmpty, id.count <= limits.maxIdBytes else { throw identifierFault(field, value, text) }
    return id
  }

  /// What is wrong with an identifier.
  @inline(never)
  private func identifierFault(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) -> Rejection {
    guard value.0 != 0 else { return missing(field) }
    guard text.character(value.0) == UInt8(ascii: "\"") else {
      return invalid(field, "must be a string", value, text)
    }
    let id = text.string(value.0, arena: arena)
    return id.isEmpty ? invalid(field, "must not be empty", value, text) : tooLong(id, field)
  }

  private func tooLong(_ id: ByteSpan, _ field: StaticString) -> Rejection {
    Rejection(
      .limitExceeded,
      event: eventNumber,
      field: field,
      problem: "has \(id.count) bytes, more than limits.maxIdBytes (\(limits.maxIdBytes))",
      value: id
    )
  }

  @inline(__always)
  private func optionalIdentifier(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan {
    value.0 == 0 ? .empty : try identifier(field, value, text)
  }

  @inline(__always)
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
    guard kind.count <= limits.maxIdBytes else { throw tooLong(kind, field) }
    return kind
  }

  @inline(__always)
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

  @inline(__always)
  private func optionalPlace(_ at: JSONText.Field, _ text: JSONText) throws(Rejection) -> Place? {
    at.0 == 0 ? nil : try place(at, text)
  }

  @inline(never)
  private func place(_ at: JSONText.Field, _ text: JSONText) throws(Rejection) -> Place {
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
