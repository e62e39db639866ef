import Spelling

/// The names of an item list's fields, for messages.
private struct ItemListFields {
  let list: StaticString
  let id: StaticString
  let kind: StaticString
  let data: StaticString
  let parent: IgnoredFields.Parent

  static let ofSection = ItemListFields(
    list: "items",
    id: "items.id",
    kind: "items.kind",
    data: "items.data",
    parent: .items
  )
  static let ofFeed = ItemListFields(
    list: "sections.items",
    id: "sections.items.id",
    kind: "sections.items.kind",
    data: "sections.items.data",
    parent: .sectionItems
  )
}

/// The form of one event: its fields, each checked in the order of the protocol's table.
///
/// The text goes from method to method and is not kept, as keeping it would count its references for every record.
extension RecordDecoder {
  /// What an event does, which is looked at first.
  @inline(__always)
  func operation(_ fields: EventFields, in text: JSONText) throws(Rejection) -> Operation {
    guard !fields.op.isAbsent else { throw missing("op") }
    let op = fields.op.value
    guard text.character(op.first) == UInt8(ascii: "\"") else {
      throw invalid("op", "must be a string", op, text)
    }
    let name = text.string(op.first, arena: arena)
    guard let operation = Operation(name: name) else {
      throw unknownOperation(name)
    }
    return operation
  }

  /// Reads an event, if its form is right.
  ///
  /// - Parameters:
  ///   - fields: where its fields are in the text.
  ///   - operation: what it does.
  ///   - target: memory for it.
  @inline(__always)
  func read(
    _ fields: EventFields,
    _ operation: Operation,
    in text: JSONText,
    to target: UnsafeMutablePointer<Event>
  ) throws(Rejection) {
    target.initialize(to: Event(operation: operation))
    switch operation {
    case .feedClear, .feedDelete, .feedReload: break
    case .feedReplace:
      guard !fields.sections.isAbsent else { throw missing("sections") }
      target.pointee.sections = try listedSections(fields.sections.value, text)
    case .sectionUpsert:
      target.pointee.section = try identifier("section", fields.section.value, text)
      try readSection(fields, operation, in: text, to: target)
    case .sectionReplace:
      target.pointee.section = try identifier("section", fields.section.value, text)
      guard !fields.items.isAbsent else { throw missing("items") }
      beginItemList()
      target.pointee.items = try listedItems(fields.items.value, fields: .ofSection, text)
      try readSection(fields, operation, in: text, to: target)
    case .sectionMove:
      target.pointee.section = try identifier("section", fields.section.value, text)
      guard !fields.at.isAbsent else { throw missing("at") }
      target.pointee.place = try optionalPlace(fields.at.value, operation, text)
    case .sectionDelete, .sectionReload:
      target.pointee.section = try identifier("section", fields.section.value, text)
    case .itemUpsert:
      target.pointee.item = try identifier("item", fields.item.value, text)
      target.pointee.section = try optionalIdentifier("section", fields.section.value, text)
      target.pointee.fields.kind = try optionalKind("kind", fields.kind.value, text)
      target.pointee.fields.data = try optionalData("data", fields.data.value, text)
      target.pointee.place = try optionalPlace(fields.at.value, operation, text)
    case .itemPatch:
      target.pointee.item = try identifier("item", fields.item.value, text)
      guard !fields.data.isAbsent else { throw missing("data") }
      target.pointee.fields.data = try optionalData("data", fields.data.value, text)
    case .itemMove:
      target.pointee.item = try identifier("item", fields.item.value, text)
      target.pointee.section = try optionalIdentifier("section", fields.section.value, text)
      target.pointee.place = try optionalPlace(fields.at.value, operation, text)
    case .itemDelete, .itemReconfigure, .itemReload:
      target.pointee.item = try identifier("item", fields.item.value, text)
    }
  }

  /// Reads what an event says of a section itself.
  private func readSection(
    _ fields: EventFields,
    _ operation: Operation,
    in text: JSONText,
    to target: UnsafeMutablePointer<Event>
  ) throws(Rejection) {
    target.pointee.fields.data = try optionalData("data", fields.data.value, text)
    target.pointee.fields.order = try optionalOrder("order", fields.order.value, text)
    target.pointee.fields.keep = try optionalKeep("keep", fields.keep.value, text)
    target.pointee.place = try optionalPlace(fields.at.value, operation, text)
  }

  /// Counts the fields of an event that its operation does not read.
  @inline(__always)
  func countIgnored(_ fields: EventFields, _ operation: Operation, in text: JSONText, at object: Int) {
    if !operation.fieldNames.isSuperset(of: fields.names) { findIgnored(operation, in: text, at: object) }
  }

  @inline(never)
  private func findIgnored(_ operation: Operation, in text: JSONText, at object: Int) {
    text.forEachMember(of: object, arena: arena) { name, _ in
      guard !operation.fieldNames.contains(EventFields.Names(EventFields.Name(name))) else { return }
      ignored.note(operation, .event, name)
    }
  }

  // MARK: Fields

  @inline(never)
  private func unknownOperation(_ name: ByteSpan) -> Rejection {
    let nearest = name.count > 64 ? nil : NearestName.suggestion(for: name.text, among: Operation.names)
    let hint =
      nearest.map { "did you mean \"\($0)\"?" }
      ?? "the operations are " + Operation.names.joined(separator: ", ")
    return Rejection(
      .unknownOp,
      event: eventNumber,
      field: "op",
      problem: "names no operation of this protocol",
      found: "\(name.quotedForMessage()); \(hint)"
    )
  }

  @inline(never)
  private func missing(_ field: StaticString) -> Rejection {
    let name = field.description
    let owner =
      name == "op" ? "every event" : name.hasSuffix(".id") ? "every listed element" : "this operation"
    return Rejection(
      .missingField,
      event: eventNumber,
      field: field,
      problem: "is missing; \(owner) requires it"
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
      found: text.span(from: value.first, to: value.end).valueForMessage()
    )
  }

  @inline(__always)
  private func identifier(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan {
    guard value.first != 0, text.character(value.first) == UInt8(ascii: "\"") else {
      throw identifierFault(field, value, text)
    }
    let id = text.string(value.first, arena: arena)
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
    guard value.first != 0 else { return missing(field) }
    guard text.character(value.first) == UInt8(ascii: "\"") else {
      return invalid(field, "must be a string", value, text)
    }
    let id = text.string(value.first, arena: arena)
    return id.isEmpty ? invalid(field, "must not be empty", value, text) : tooLong(id, field)
  }

  private func tooLong(_ id: ByteSpan, _ field: StaticString) -> Rejection {
    Rejection(
      .limitExceeded,
      event: eventNumber,
      field: field,
      problem: "has \(id.count) bytes, more than limits.maxIdBytes (\(limits.maxIdBytes))",
      found: id.quotedForMessage()
    )
  }

  @inline(__always)
  private func optionalIdentifier(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan {
    value.first == 0 ? .empty : try identifier(field, value, text)
  }

  @inline(__always)
  private func optionalKind(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan? {
    guard value.first != 0 else { return nil }
    guard text.character(value.first) == UInt8(ascii: "\"") else {
      throw invalid(field, "must be a string", value, text)
    }
    let kind = text.string(value.first, arena: arena)
    guard kind.count <= limits.maxIdBytes else { throw tooLong(kind, field) }
    return kind
  }

  @inline(__always)
  private func optionalData(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan? {
    guard value.first != 0 else { return nil }
    let data = text.compactSpan(from: value.first, to: value.end, arena: arena)
    guard data.count <= limits.maxDataBytes else {
      throw Rejection(
        .limitExceeded,
        event: eventNumber,
        field: field,
        problem: "has \(data.count) bytes, more than limits.maxDataBytes (\(limits.maxDataBytes))",
        found: data.valueForMessage()
      )
    }
    return data
  }

  /// An order as it is published; empty for `null`.
  private func optionalOrder(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan? {
    guard value.first != 0 else { return nil }
    let written = text.compactSpan(from: value.first, to: value.end, arena: arena)
    if written.matches("null") { return .empty }
    do throws(SectionOrder.Fault) {
      let order = try SectionOrder(written)
      return withExtendedLifetime(order.text) { arena.copy($0.span) }
    } catch {
      throw Rejection(
        .invalidField,
        event: eventNumber,
        field: field,
        problem: error.problem,
        found: error.value.valueForMessage()
      )
    }
  }

  /// A bound on a section's items; empty for `null`.
  private func optionalKeep(
    _ field: StaticString,
    _ value: JSONText.Field,
    _ text: JSONText
  ) throws(Rejection) -> ByteSpan? {
    guard value.first != 0 else { return nil }
    let written = text.span(from: value.first, to: value.end)
    if written.matches("null") { return .empty }
    guard SectionSettings.bound(written) != nil else {
      throw invalid(
        field,
        "must be null or an integer from 1 to \(SectionSettings.greatestBound)",
        value,
        text
      )
    }
    return written
  }

  @inline(__always)
  private func optionalPlace(
    _ at: JSONText.Field,
    _ operation: Operation,
    _ text: JSONText
  ) throws(Rejection) -> Place? {
    at.first == 0 ? nil : try place(at, operation, text)
  }

  @inline(never)
  private func place(
    _ at: JSONText.Field,
    _ operation: Operation,
    _ text: JSONText
  ) throws(Rejection) -> Place {
    let form =
      #"must be "first", "last", {"before": id}, {"after": id} or {"index": n} with n an integer >= 0"#
    if text.character(at.first) == UInt8(ascii: "\"") {
      let name = text.string(at.first, arena: arena)
      if name.matches("first") { return .first }
      if name.matches("last") { return .last }
      throw invalid("at", form, at, text)
    }
    guard text.character(at.first) == UInt8(ascii: "{") else { throw invalid("at", form, at, text) }
    var (before, after, index): (JSONText.Field, JSONText.Field, JSONText.Field) = ((0, 0), (0, 0), (0, 0))
    text.forEachMember(of: at.first, arena: arena) { name, value in
      if name.matches("before") {
        before = value
      } else if name.matches("after") {
        after = value
      } else if name.matches("index") {
        index = value
      } else {
        ignored.note(operation, .place, name)
      }
    }
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
    var index = 0
    for byte in text.span(from: value.first, to: value.end).buffer {
      guard byte &- 0x30 < 10 else { return nil }
      let (product, overflow) = index.multipliedReportingOverflow(by: 10)
      let (sum, sumOverflow) = product.addingReportingOverflow(Int(byte &- 0x30))
      index = overflow || sumOverflow ? .max : sum
    }
    return index
  }

  /// The values of a listed item's members; a first token of 0 means absent, and of duplicates the last counts.
  ///
  /// - Parameter parent: what the item is listed in.
  @inline(__always)
  private func itemMembers(
    of object: Int,
    in parent: IgnoredFields.Parent,
    _ text: JSONText
  ) -> (id: JSONText.Field, kind: JSONText.Field, data: JSONText.Field) {
    var values: (id: JSONText.Field, kind: JSONText.Field, data: JSONText.Field) = ((0, 0), (0, 0), (0, 0))
    text.forEachMember(of: object, arena: arena) { name, value in
      if name.matches("id") {
        values.id = value
      } else if name.matches("kind") {
        values.kind = value
      } else if name.matches("data") {
        values.data = value
      } else {
        ignored.note(parent == .items ? .sectionReplace : .feedReplace, parent, name)
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
      return ListedItem(id: id, hash: hash, fields: ElementFields())
    case UInt8(ascii: "{"):
      let (idValue, kindValue, dataValue) = itemMembers(of: element.0, in: fields.parent, text)
      let (id, hash) = try newItem(fields.id, idValue, text)
      let kind = try optionalKind(fields.kind, kindValue, text)
      let data = try optionalData(fields.data, dataValue, text)
      return ListedItem(id: id, hash: hash, fields: ElementFields(kind: kind, data: data))
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
        found: id.quotedForMessage()
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
    var idValue: JSONText.Field = (0, 0)
    var values = EventFields()
    text.forEachMember(of: element.0, arena: arena) { name, value in
      switch EventFields.Name(name) {
      case _ where name.matches("id"): idValue = value
      case let known where EventFields.Names.ofListedSection.contains(EventFields.Names(known)):
        values.set(known, value)
      default: ignored.note(.feedReplace, .sections, name)
      }
    }
    let id = try identifier("sections.id", idValue, text)
    let hash = ByteHash.of(id)
    guard !isListed(section: id, hash) else {
      throw Rejection(
        .duplicateID,
        event: eventNumber,
        field: "sections.id",
        problem: "lists a section twice",
        found: id.quotedForMessage()
      )
    }
    let fields = ElementFields(
      data: try optionalData("sections.data", values.data.value, text),
      order: try optionalOrder("sections.order", values.order.value, text),
      keep: try optionalKeep("sections.keep", values.keep.value, text)
    )
    let items =
      values.items.isAbsent
      ? items.count..<items.count : try listedItems(values.items.value, fields: .ofFeed, text)
    return ListedSection(id: id, hash: hash, fields: fields, items: items)
  }
}
