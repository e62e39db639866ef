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

/// The form of one event: reads its fields and checks each in the order of the protocol's table.
struct EventForm {
  private let text: JSONText
  private let decoder: RecordDecoder
  /// The event's number in an array, for messages.
  private let number: Int?

  /// Where each known field's value is; a first token of 0 means absent.
  private struct Fields {
    var op = (0, 0)
    var item = (0, 0)
    var section = (0, 0)
    var kind = (0, 0)
    var data = (0, 0)
    var at = (0, 0)
    var items = (0, 0)
    var sections = (0, 0)

    /// Reads the names of an object's members; of duplicates the last counts.
    init(_ text: JSONText, of object: Int, _ arena: ScratchArena) {
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

  private let fields: Fields

  /// - Parameters:
  ///   - object: the event's first token.
  ///   - number: the event's number in an array, for messages.
  init(of object: Int, in text: JSONText, decoder: RecordDecoder, number: Int?) {
    self.text = text
    self.decoder = decoder
    self.number = number
    fields = Fields(text, of: object, decoder.arena)
  }

  private var limits: Limits { decoder.limits }
  private var op: (Int, Int) { fields.op }
  private var at: (Int, Int) { fields.at }

  /// The event, if its form is right.
  func event() throws(Rejection) -> Event {
    guard op.0 != 0 else { throw missing("op") }
    guard text.character(op.0) == UInt8(ascii: "\"") else {
      throw invalid("op", "must be a string", op)
    }
    let name = text.string(op.0, arena: decoder.arena)
    guard let operation = Operation(name: name) else {
      throw Rejection(
        .unknownOp,
        event: number,
        field: "op",
        problem: "names no operation of this protocol",
        value: name
      )
    }
    var event = Event(operation: operation)
    switch operation {
    case .feedClear, .feedDelete, .feedReload: break
    case .feedReplace:
      event.sections = try listedSections()
    case .sectionUpsert:
      event.section = try identifier("section", fields.section)
      event.data = try optionalData("data", fields.data)
      event.place = try optionalPlace()
    case .sectionReplace:
      event.section = try identifier("section", fields.section)
      guard fields.items.0 != 0 else { throw missing("items") }
      decoder.beginItemList()
      event.items = try listedItems(fields.items, fields: .ofSection)
      event.data = try optionalData("data", fields.data)
      event.place = try optionalPlace()
    case .sectionMove:
      event.section = try identifier("section", fields.section)
      guard at.0 != 0 else { throw missing("at") }
      event.place = try optionalPlace()
    case .sectionDelete, .sectionReload:
      event.section = try identifier("section", fields.section)
    case .itemUpsert:
      event.item = try identifier("item", fields.item)
      event.section = try optionalIdentifier("section", fields.section)
      event.kind = try optionalKind("kind", fields.kind)
      event.data = try optionalData("data", fields.data)
      event.place = try optionalPlace()
    case .itemPatch:
      event.item = try identifier("item", fields.item)
      guard fields.data.0 != 0 else { throw missing("data") }
      event.data = try optionalData("data", fields.data)
    case .itemMove:
      event.item = try identifier("item", fields.item)
      event.section = try optionalIdentifier("section", fields.section)
      event.place = try optionalPlace()
    case .itemDelete, .itemReconfigure, .itemReload:
      event.item = try identifier("item", fields.item)
    }
    return event
  }

  // MARK: Fields

  private func missing(_ field: StaticString) -> Rejection {
    Rejection(.missingField, event: number, field: field, problem: "is missing; this operation requires it")
  }

  private func invalid(_ field: StaticString, _ problem: String, _ value: (Int, Int)) -> Rejection {
    Rejection(
      .invalidField,
      event: number,
      field: field,
      problem: problem,
      value: text.span(from: value.0, to: value.1)
    )
  }

  private func identifier(_ field: StaticString, _ value: (Int, Int)) throws(Rejection) -> ByteSpan {
    guard value.0 != 0 else { throw missing(field) }
    guard text.character(value.0) == UInt8(ascii: "\"") else {
      throw invalid(field, "must be a string", value)
    }
    let id = text.string(value.0, arena: decoder.arena)
    guard !id.isEmpty else { throw invalid(field, "must not be empty", value) }
    try checkLength(id, field)
    return id
  }

  private func checkLength(_ id: ByteSpan, _ field: StaticString) throws(Rejection) {
    guard id.count <= limits.maxIdBytes else {
      throw Rejection(
        .limitExceeded,
        event: number,
        field: field,
        problem: "has \(id.count) bytes, more than limits.maxIdBytes (\(limits.maxIdBytes))",
        value: id
      )
    }
  }

  private func optionalIdentifier(_ field: StaticString, _ value: (Int, Int)) throws(Rejection) -> ByteSpan {
    value.0 == 0 ? .empty : try identifier(field, value)
  }

  private func optionalKind(_ field: StaticString, _ value: (Int, Int)) throws(Rejection) -> ByteSpan? {
    guard value.0 != 0 else { return nil }
    guard text.character(value.0) == UInt8(ascii: "\"") else {
      throw invalid(field, "must be a string", value)
    }
    let kind = text.string(value.0, arena: decoder.arena)
    try checkLength(kind, field)
    return kind
  }

  private func optionalData(_ field: StaticString, _ value: (Int, Int)) throws(Rejection) -> ByteSpan? {
    guard value.0 != 0 else { return nil }
    let data = text.compactSpan(from: value.0, to: value.1, arena: decoder.arena)
    guard data.count <= limits.maxDataBytes else {
      throw Rejection(
        .limitExceeded,
        event: number,
        field: field,
        problem: "has \(data.count) bytes, more than limits.maxDataBytes (\(limits.maxDataBytes))",
        value: data
      )
    }
    return data
  }

  private func optionalPlace() throws(Rejection) -> Place? {
    guard at.0 != 0 else { return nil }
    let form =
      #"must be "first", "last", {"before": id}, {"after": id} or {"index": n} with n an integer >= 0"#
    if text.character(at.0) == UInt8(ascii: "\"") {
      let name = text.string(at.0, arena: decoder.arena)
      if name.matches("first") { return .first }
      if name.matches("last") { return .last }
      throw invalid("at", form, at)
    }
    guard text.character(at.0) == UInt8(ascii: "{") else { throw invalid("at", form, at) }
    var before = (0, 0)
    var after = (0, 0)
    var index = (0, 0)
    forEachMember(from: at.0) { name, value in
      if name.matches("before") {
        before = value
      } else if name.matches("after") {
        after = value
      } else if name.matches("index") {
        index = value
      }
    }
    switch (before.0 != 0, after.0 != 0, index.0 != 0) {
    case (true, false, false): return .before(try identifier("at.before", before))
    case (false, true, false): return .after(try identifier("at.after", after))
    case (false, false, true):
      guard let value = plainIndex(index) else { throw invalid("at", form, at) }
      return .index(value)
    default: throw invalid("at", form, at)
    }
  }

  /// A plain decimal integer >= 0; one too large to count is as good as the largest.
  private func plainIndex(_ value: (Int, Int)) -> Int? {
    let digits = text.span(from: value.0, to: value.1)
    guard digits.buffer.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return text.integer(value.0).map(Int.init) ?? Int.max
  }

  private func forEachMember(from first: Int, _ body: (ByteSpan, (Int, Int)) -> Void) {
    text.forEachMember(of: first, arena: decoder.arena) { name, value in body(name, value) }
  }

  // MARK: Lists

  private func listedItems(_ list: (Int, Int), fields: ItemListFields) throws(Rejection) -> Range<Int> {
    guard text.character(list.0) == UInt8(ascii: "[") else {
      throw invalid(fields.list, "must be an array", list)
    }
    let start = decoder.items.count
    try text.forEachElement(of: list.0) { element throws(Rejection) in
      decoder.append(try listedItem(element, fields: fields))
    }
    return start..<decoder.items.count
  }

  private func listedItem(_ element: (Int, Int), fields: ItemListFields) throws(Rejection) -> ListedItem {
    switch text.character(element.0) {
    case UInt8(ascii: "\""):
      let (id, hash) = try newItem(fields.list, element)
      return ListedItem(id: id, hash: hash, kind: nil, data: nil)
    case UInt8(ascii: "{"):
      var idValue = (0, 0)
      var kindValue = (0, 0)
      var dataValue = (0, 0)
      forEachMember(from: element.0) { name, value in
        if name.matches("id") {
          idValue = value
        } else if name.matches("kind") {
          kindValue = value
        } else if name.matches("data") {
          dataValue = value
        }
      }
      let (id, hash) = try newItem(fields.id, idValue)
      let kind = try optionalKind(fields.kind, kindValue)
      let data = try optionalData(fields.data, dataValue)
      return ListedItem(id: id, hash: hash, kind: kind, data: data)
    default:
      throw invalid(fields.list, "must list objects with an id, or ids", element)
    }
  }

  /// The identifier of a listed item, which must not be in the list yet.
  private func newItem(_ field: StaticString, _ value: (Int, Int)) throws(Rejection) -> (ByteSpan, UInt32) {
    let id = try identifier(field, value)
    let hash = ByteHash.of(id)
    guard !decoder.isListed(item: id, hash) else {
      throw Rejection(.duplicateID, event: number, field: field, problem: "lists an item twice", value: id)
    }
    return (id, hash)
  }

  private func listedSections() throws(Rejection) -> Range<Int> {
    let list = fields.sections
    guard list.0 != 0 else { throw missing("sections") }
    guard text.character(list.0) == UInt8(ascii: "[") else {
      throw invalid("sections", "must be an array", list)
    }
    decoder.beginItemList()
    decoder.beginSectionList()
    let start = decoder.sections.count
    try text.forEachElement(of: list.0) { element throws(Rejection) in
      decoder.append(try listedSection(element))
    }
    return start..<decoder.sections.count
  }

  private func listedSection(_ element: (Int, Int)) throws(Rejection) -> ListedSection {
    guard text.character(element.0) == UInt8(ascii: "{") else {
      throw invalid("sections", "must list objects with an id", element)
    }
    var idValue = (0, 0)
    var dataValue = (0, 0)
    var itemsValue = (0, 0)
    forEachMember(from: element.0) { name, value in
      if name.matches("id") {
        idValue = value
      } else if name.matches("data") {
        dataValue = value
      } else if name.matches("items") {
        itemsValue = value
      }
    }
    let id = try identifier("sections.id", idValue)
    let hash = ByteHash.of(id)
    guard !decoder.isListed(section: id, hash) else {
      throw Rejection(
        .duplicateID,
        event: number,
        field: "sections.id",
        problem: "lists a section twice",
        value: id
      )
    }
    let data = try optionalData("sections.data", dataValue)
    let items =
      itemsValue.0 == 0
      ? decoder.items.count..<decoder.items.count : try listedItems(itemsValue, fields: .ofFeed)
    return ListedSection(id: id, hash: hash, data: data, items: items)
  }
}
