import Spelling

/// Decoding of one event: its fields, each checked in the order of the protocol's table.
extension RecordDecoder {
  /// The operation of an event, which is decoded first.
  @inline(__always)
  func operation(_ fields: EventFields) throws(Rejection) -> Operation {
    let name = try string(present(fields[.op]))
    guard let operation = Operation(name: name) else { throw unknownOperation(name) }
    return operation
  }

  /// Reads an event and checks its form.
  ///
  /// - Parameters:
  ///   - fields: the positions of its fields in the text.
  ///   - operation: its operation.
  ///   - target: memory for the event.
  @inline(__always)
  func read(
    _ fields: EventFields,
    _ operation: Operation,
    to target: UnsafeMutablePointer<Event>
  ) throws(Rejection) {
    target.initialize(to: Event(operation: operation))
    switch operation {
    case .feedClear, .feedDelete, .feedReload: break
    case .feedReplace: target.pointee.sections = try listedSections(present(fields[.sections]))
    case .sectionUpsert:
      target.pointee.section = try identifier(fields[.section])
      try readSection(fields, operation, to: target)
    case .sectionReplace:
      target.pointee.section = try identifier(fields[.section])
      beginItemList()
      target.pointee.items = try listedItems(present(fields[.items]))
      try readSection(fields, operation, to: target)
    case .sectionMove:
      target.pointee.section = try identifier(fields[.section])
      target.pointee.place = try place(present(fields[.at]), operation)
    case .sectionDelete, .sectionReload: target.pointee.section = try identifier(fields[.section])
    case .itemUpsert:
      target.pointee.item = try identifier(fields[.item])
      if !fields[.section].isAbsent { target.pointee.section = try identifier(fields[.section]) }
      target.pointee.fields.kind = try kind(fields[.kind])
      target.pointee.fields.data = try data(fields[.data])
      if fields.names.contains(.expires) { target.pointee.fields.lifetime = try end(fields[.expires]) }
      target.pointee.place = try place(fields[.at], operation)
      if takesReferences { target.pointee.fields.refs = try references(fields[.refs], isPatch: false) }
    case .itemPatch:
      target.pointee.item = try identifier(fields[.item])
      let hasEnd = fields.names.contains(.expires)
      let hasReferences = takesReferences && !fields[.refs].isAbsent
      target.pointee.fields.data = try data(hasEnd || hasReferences ? fields[.data] : present(fields[.data]))
      if hasEnd { target.pointee.fields.lifetime = try end(fields[.expires]) }
      if hasReferences { target.pointee.fields.refs = try references(fields[.refs], isPatch: true) }
    case .itemMove:
      target.pointee.item = try identifier(fields[.item])
      if !fields[.section].isAbsent { target.pointee.section = try identifier(fields[.section]) }
      target.pointee.place = try place(fields[.at], operation)
    case .itemDelete, .itemReconfigure, .itemReload: target.pointee.item = try identifier(fields[.item])
    }
  }

  /// Reads an event's fields of the section itself.
  private func readSection(
    _ fields: EventFields,
    _ operation: Operation,
    to target: UnsafeMutablePointer<Event>
  ) throws(Rejection) {
    target.pointee.fields.data = try data(fields[.data])
    target.pointee.fields.order = try order(fields[.order])
    target.pointee.fields.keep = try keep(fields[.keep])
    target.pointee.fields.lifetime = try ttl(fields[.ttl])
    target.pointee.place = try place(fields[.at], operation)
  }

  /// Counts the fields of an event that its operation does not read.
  @inline(never)
  func countIgnored(_ operation: Operation, at object: Int) {
    text.forEachMember(of: object, arena: arena) { name, _ in
      let names = EventFields.Names(EventFields.Name(name))
      guard !operation.fieldNames.contains(names) || names == .refs && !takesReferences else { return }
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
    let found = "\(name.quotedForMessage()); \(hint)"
    return Rejection(.unknownOp, field: "op", "names no operation of this protocol", found: found)
  }

  @inline(never)
  private func missing(_ field: EventField) -> Rejection {
    let owner =
      field.name == .op ? "every event" : field.name == .id ? "every listed element" : "this operation"
    return Rejection(.missingField, field: field.path, "is missing; \(owner) requires it")
  }

  @inline(never)
  func invalid(_ field: EventField, _ problem: String) -> Rejection {
    let found = text.span(of: field.value).valueForMessage()
    return Rejection(.invalidField, field: field.path, problem, found: found)
  }

  @inline(never)
  private func tooLong(_ bytes: ByteSpan, _ field: EventField) -> Rejection {
    let (limit, found) =
      field.name == .data
      ? ("limits.maxDataBytes (\(limits.maxDataBytes))", bytes.valueForMessage())
      : ("limits.maxIdBytes (\(limits.maxIdBytes))", bytes.quotedForMessage())
    let problem = "has \(bytes.count) bytes, more than \(limit)"
    return Rejection(.limitExceeded, field: field.path, problem, found: found)
  }

  @inline(never)
  private func duplicate(_ id: ByteSpan, _ field: EventField, _ element: String) -> Rejection {
    Rejection(.duplicateID, field: field.path, "lists \(element) twice", found: id.quotedForMessage())
  }

  /// A required field.
  @inline(__always)
  private func present(_ field: EventField) throws(Rejection) -> EventField {
    if field.isAbsent { throw missing(field) }
    return field
  }

  @inline(__always)
  private func string(_ field: EventField) throws(Rejection) -> ByteSpan {
    guard text.character(field.value.first) == UInt8(ascii: "\"") else {
      throw invalid(field, "must be a string")
    }
    return text.string(field.value.first, arena: arena)
  }

  @inline(__always)
  private func identifier(_ field: EventField) throws(Rejection) -> ByteSpan {
    let id = try string(present(field))
    if id.isEmpty { throw invalid(field, "must not be empty") }
    if id.count > limits.maxIdBytes { throw tooLong(id, field) }
    return id
  }

  @inline(__always)
  private func kind(_ field: EventField) throws(Rejection) -> ByteSpan? {
    if field.isAbsent { return nil }
    let kind = try string(field)
    if kind.count > limits.maxIdBytes { throw tooLong(kind, field) }
    return kind
  }

  @inline(__always)
  private func data(_ field: EventField) throws(Rejection) -> ByteSpan? {
    if field.isAbsent { return nil }
    let data = text.compactSpan(from: field.value.first, to: field.value.end, arena: arena)
    if data.count > limits.maxDataBytes { throw tooLong(data, field) }
    return data
  }

  /// An order in its published spelling; empty for `null`.
  private func order(_ field: EventField) throws(Rejection) -> ByteSpan? {
    if field.isAbsent { return nil }
    let written = text.compactSpan(from: field.value.first, to: field.value.end, arena: arena)
    if written.matches("null") { return .empty }
    do throws(SectionOrder.Fault) {
      let order = try SectionOrder(written)
      return withExtendedLifetime(order.text) { arena.copy($0.span) }
    } catch {
      let found = error.value.valueForMessage()
      throw Rejection(.invalidField, field: field.path, error.problem, found: found)
    }
  }

  /// A limit on a section's items.
  private func keep(_ field: EventField) throws(Rejection) -> NumberField {
    try number(field, in: SectionSettings.bounds)
  }

  /// How long a section's items last.
  private func ttl(_ field: EventField) throws(Rejection) -> NumberField {
    try number(field, in: SectionSettings.timesToLive, "milliseconds, ")
  }

  private func number(
    _ field: EventField,
    in range: ClosedRange<Int64>,
    _ unit: String = ""
  ) throws(Rejection) -> NumberField {
    if field.isAbsent { return .absent }
    let written = text.span(of: field.value)
    if written.matches("null") { return .none }
    guard let number = NumberField(digits: written, in: range) else {
      throw invalid(field, "must be null or \(unit)an integer from 1 to \(range.upperBound)")
    }
    return number
  }

  /// An item's end, which is there.
  @inline(never)
  private func end(_ field: EventField) throws(Rejection) -> NumberField {
    hasEnds = true
    if text.span(of: field.value).matches("null") { return .none }
    guard let end = TimestampFormat.time(of: field.value, in: text, arena) else {
      throw invalid(field, "must be null, or " + TimestampFormat.allowedEnd)
    }
    return NumberField(end)
  }

  @inline(__always)
  private func place(_ at: EventField, _ operation: Operation) throws(Rejection) -> Place? {
    at.isAbsent ? nil : try givenPlace(at, operation)
  }

  @inline(never)
  private func givenPlace(_ at: EventField, _ operation: Operation) throws(Rejection) -> Place {
    switch text.character(at.value.first) {
    case UInt8(ascii: "\""):
      let name = text.string(at.value.first, arena: arena)
      if name.matches("first") { return .first }
      if name.matches("last") { return .last }
    case UInt8(ascii: "{"):
      var members = EventFields(in: .place)
      read([.before, .after, .index], of: at, operation, to: &members)
      switch members.names {
      case .before: return .before(try identifier(members[.before]))
      case .after: return .after(try identifier(members[.after]))
      case .index:
        if let index = RecordDecoder.plainIndex(text.span(of: members[.index].value)) { return .index(index) }
      default: break
      }
    default: break
    }
    throw invalid(
      at,
      #"must be "first", "last", {"before": id}, {"after": id} or {"index": n} with n an integer >= 0"#
    )
  }

  /// A plain decimal integer >= 0; a number that is too large counts as the largest.
  static func plainIndex(_ text: ByteSpan) -> Int? {
    var index = 0
    for byte in text.buffer {
      guard byte &- 0x30 < 10 else { return nil }
      let (product, overflow) = index.multipliedReportingOverflow(by: 10)
      let (sum, sumOverflow) = product.addingReportingOverflow(Int(byte &- 0x30))
      index = overflow || sumOverflow ? .max : sum
    }
    return index
  }

  /// Reads the members of an object in an event; of duplicates the last counts. Unknown members are counted.
  @inline(always)
  private func read(
    _ known: EventFields.Names,
    of object: EventField,
    _ operation: Operation,
    to fields: inout EventFields
  ) {
    text.forEachMember(of: object.value.first, arena: arena) { text, value in
      let name = EventFields.Name(text)
      if known.contains(EventFields.Names(name)) {
        fields.set(name, value)
      } else {
        ignored.note(operation, fields.parent, text)
      }
    }
  }

  // MARK: Lists

  /// Calls the body with each element of a list, under the list's name.
  @inline(__always)
  private func forEachElement(
    of list: EventField,
    _ body: (EventField) throws(Rejection) -> Void
  ) throws(Rejection) {
    try text.forEachElement(of: list.value.first) { value throws(Rejection) in
      try body(EventField(name: list.name, parent: list.parent, value: value))
    }
  }

  private func checkIsArray(_ list: EventField) throws(Rejection) {
    guard text.character(list.value.first) == UInt8(ascii: "[") else {
      throw invalid(list, "must be an array")
    }
  }

  private func listedItems(_ list: EventField) throws(Rejection) -> Range<Int> {
    try checkIsArray(list)
    try checkItemCount(of: list)
    let start = items.count
    let parent = list.parent == .event ? IgnoredFields.Parent.items : .sectionItems
    try forEachElement(of: list) { element throws(Rejection) in append(try listedItem(element, in: parent)) }
    return start..<items.count
  }

  @inline(__always)
  private func listedItem(
    _ element: EventField,
    in parent: IgnoredFields.Parent
  ) throws(Rejection) -> ListedItem {
    var idField = element
    var fields = EventFields(in: parent)
    switch text.character(element.value.first) {
    case UInt8(ascii: "\""): break
    case UInt8(ascii: "{"):
      read(
        [.id, .kind, .data, .expires, .refs],
        of: element,
        parent == .items ? .sectionReplace : .feedReplace,
        to: &fields
      )
      idField = fields[.id]
    default: throw invalid(element, "must list objects with an id, or ids")
    }
    let id = try identifier(idField)
    let hash = ByteHash.of(id)
    if isListed(item: id, hash) { throw duplicate(id, idField, "an item") }
    let content = ElementFields(
      kind: try kind(fields[.kind]),
      data: try data(fields[.data]),
      lifetime: fields.names.contains(.expires) ? try end(fields[.expires]) : .absent
    )
    if !fields[.refs].isAbsent { try readListed(fields[.refs]) }
    return ListedItem(id: id, hash: hash, fields: content)
  }

  private func listedSections(_ list: EventField) throws(Rejection) -> Range<Int> {
    try checkIsArray(list)
    try checkSectionCount(of: list)
    beginItemList()
    beginSectionList()
    let start = sections.count
    try forEachElement(of: list) { element throws(Rejection) in append(try listedSection(element)) }
    return start..<sections.count
  }

  private func listedSection(_ element: EventField) throws(Rejection) -> ListedSection {
    guard text.character(element.value.first) == UInt8(ascii: "{") else {
      throw invalid(element, "must list objects with an id")
    }
    var fields = EventFields(in: .sections)
    read([.id, .data, .order, .keep, .ttl, .items], of: element, .feedReplace, to: &fields)
    let id = try identifier(fields[.id])
    let hash = ByteHash.of(id)
    if isListed(section: id, hash) { throw duplicate(id, fields[.id], "a section") }
    let content = ElementFields(
      data: try data(fields[.data]),
      order: try order(fields[.order]),
      keep: try keep(fields[.keep]),
      lifetime: try ttl(fields[.ttl])
    )
    let items = fields[.items].isAbsent ? items.count..<items.count : try listedItems(fields[.items])
    return ListedSection(id: id, hash: hash, fields: content, items: items)
  }
}
