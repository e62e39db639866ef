import Feed

/// Parses a record's value into events, or finds the first error in its form.
struct OracleEventReader {
  private let limits: Limits
  /// The numbers of items and sections before the record: a list may have as many, even above the limits.
  private let itemsBefore: Int
  private let sectionsBefore: Int
  private let takesReferences: Bool
  /// The index of the current event, in a record that is an array.
  private var number: Int?
  /// The events read so far.
  private(set) var events: [OracleEvent] = []

  init(limits: Limits, before: OracleFeed?, takesReferences: Bool) {
    self.takesReferences = takesReferences
    self.limits = limits
    itemsBefore = before?.itemCount ?? 0
    sectionsBefore = before?.sections.count ?? 0
  }

  mutating func read(_ value: OracleJSON) throws(OracleRejection) -> [OracleEvent] {
    if case .object = value.content {
      guard limits.maxEvents >= 1 else { throw OracleRejection(.limitExceeded) }
      events += try readEvent(value)
      return events
    }
    guard let values = value.elements else {
      if !keeps(.valueIsEvents) { return [] }
      throw OracleRejection(.invalidField)
    }
    if values.isEmpty, !keeps(.emptyArray) { throw OracleRejection(.invalidField) }
    let areTooMany = !isWithin(values.count, limits.maxEvents, "limits.maxEvents") && keeps(.eventsLimited)
    if areTooMany, keeps(.countBeforeForm) { throw OracleRejection(.limitExceeded) }
    for (number, value) in values.enumerated() {
      self.number = number
      events += try readEvent(value)
    }
    if areTooMany { throw OracleRejection(.limitExceeded) }
    return events
  }

  /// The value of an event's field.
  private func field(_ name: String, of value: OracleJSON) -> OracleJSON? {
    if case .object(let members) = value.content, !keeps(.lastFieldCounts) {
      return members.first { $0.name == Array(name.utf8) }?.value
    }
    return value.last(name)
  }

  private func rejection(_ code: OracleRejectCode, _ field: String? = nil) -> OracleRejection {
    OracleRejection(code, event: number, field: field)
  }

  /// The event; nil if it is only skipped because a rule is broken.
  private func readEvent(_ value: OracleJSON) throws(OracleRejection) -> [OracleEvent] {
    guard case .object(let members) = value.content else {
      if !keeps(.eventIsObject) { return [] }
      throw rejection(.invalidField)
    }
    if let item = value.last("item"), !keeps(.opBeforeFields) { _ = try readID(item, "item") }
    guard let opValue = field("op", of: value) else { throw rejection(.missingField, "op") }
    guard let opName = opValue.string else { throw rejection(.invalidField, "op") }
    guard let op = OracleOp.allCases.first(where: { Array($0.rawValue.utf8) == opName }) else {
      if !keeps(.opKnown) { return [] }
      throw rejection(.unknownOp, "op")
    }
    let names = ["op", "if"] + op.fields.map(\.field.rawValue)
    for member in members where !names.contains(String(decoding: member.name, as: UTF8.self)) {
      let isField = OracleField(rawValue: String(decoding: member.name, as: UTF8.self)) != nil
      if isField, !keeps(.otherFieldsIgnored) { throw rejection(.invalidField) }
      if !isField, !keeps(.unknownFieldsIgnored) { throw rejection(.invalidField) }
    }
    var event = OracleEvent(op: op, number: number)
    for (field, isRequired) in keeps(.fieldsInTableOrder) ? op.fields : op.fields.reversed() {
      if field == .refs, !takesReferences { continue }
      guard let found = self.field(field.rawValue, of: value) else {
        if !isRequired || field == .data && isPatchWithoutData(op, value) { continue }
        if !keeps(.fieldsRequired) { return [] }
        throw rejection(.missingField, field.rawValue)
      }
      let mayBeNull = [.data, .order, .keep, .ttl, .expires].contains(field)
      if found.content == .null, !mayBeNull, !keeps(.nullIsInvalid) { continue }
      switch field {
      case .section: event.section = try readID(found, "section")
      case .item: event.item = try readID(found, "item")
      case .kind: event.kind = try readKind(found)
      case .at: event.place = try readPlace(found)
      case .data:
        if op != .itemPatch || keeps(.patchLimited) { _ = try readData(found) }
        event.data = found
      case .refs: event.refs = try readReferences(found, isPatch: op == .itemPatch)
      case .order: event.order = try readOrder(found, "order")
      case .keep: event.keep = try readKeep(found, "keep")
      case .ttl: event.ttl = try readTTL(found)
      case .expires: event.expires = try readEnd(found)
      case .items:
        var seen: Set<[UInt8]> = []
        event.items = try readItems(found, seen: &seen)
      case .sections: event.sections = try readSections(found)
      }
    }
    if let found = self.field("if", of: value) {
      guard let condition = OracleCondition(found) else { throw rejection(.invalidField, "if") }
      event.condition = condition
    }
    return [event]
  }

  /// Whether a patch has fields that do without data: an end, or references.
  private func isPatchWithoutData(_ op: OracleOp, _ value: OracleJSON) -> Bool {
    op == .itemPatch
      && (value.last("expires") != nil && keeps(.patchOfEnd)
        || takesReferences && field("refs", of: value) != nil)
  }

  private func readID(_ value: OracleJSON, _ field: String) throws(OracleRejection) -> [UInt8] {
    guard let id = value.string ?? (keeps(.idIsString) ? nil : value.minified),
      !id.isEmpty || !keeps(.idNotEmpty)
    else { throw rejection(.invalidField, field) }
    let size = keeps(.idLimited) ? id.count : String(decoding: id, as: UTF8.self).count
    let name = field == "at" ? "limits.maxIdBytes of an anchor" : "limits.maxIdBytes of an id"
    guard isWithin(size, limits.maxIdBytes, name) || field == "at" && !keeps(.anchorLimited) else {
      throw rejection(.limitExceeded, field)
    }
    return id
  }

  private func readKind(_ value: OracleJSON) throws(OracleRejection) -> [UInt8] {
    guard let kind = value.string ?? (keeps(.kindIsString) ? nil : []) else {
      throw rejection(.invalidField, "kind")
    }
    guard isWithin(kind.count, limits.maxIdBytes, "limits.maxIdBytes of a kind") || !keeps(.kindLimited)
    else {
      throw rejection(.limitExceeded, "kind")
    }
    return kind
  }

  private func readData(_ value: OracleJSON) throws(OracleRejection) -> [UInt8] {
    guard isWithin(value.minified.count, limits.maxDataBytes, "limits.maxDataBytes") || !keeps(.dataLimited)
    else {
      throw rejection(.limitExceeded, "data")
    }
    return value.minified
  }

  private func readOrder(
    _ value: OracleJSON,
    _ field: String
  ) throws(OracleRejection) -> OracleSetting<OracleSectionOrder> {
    if value.content == .null { return OracleSetting(value: nil) }
    guard let order = OracleSectionOrder(value) else { throw rejection(.invalidField, field) }
    if order.keys.contains(where: { $0.pointer.text.count > limits.maxIdBytes }), !keeps(.pointersUnlimited) {
      throw rejection(.limitExceeded, field)
    }
    return OracleSetting(value: order)
  }

  private func readReferences(_ value: OracleJSON, isPatch: Bool) throws(OracleRejection) -> [UInt8] {
    guard let refs = OracleReferences.canonical(value, isPatch: isPatch) else {
      throw rejection(.invalidField, "refs")
    }
    return refs
  }

  private func readKeep(
    _ value: OracleJSON,
    _ field: String
  ) throws(OracleRejection) -> OracleSetting<Int> {
    if value.content == .null { return OracleSetting(value: nil) }
    guard let keep = OracleKeep.number(value) else { throw rejection(.invalidField, field) }
    return OracleSetting(value: keep)
  }

  private func readTTL(_ value: OracleJSON) throws(OracleRejection) -> OracleSetting<Int> {
    if value.content == .null { return OracleSetting(value: nil) }
    guard let ttl = OracleEnd.ttl(value) else { throw rejection(.invalidField, "ttl") }
    return OracleSetting(value: ttl)
  }

  private func readEnd(_ value: OracleJSON) throws(OracleRejection) -> OracleSetting<Int> {
    if value.content == .null { return OracleSetting(value: nil) }
    guard let end = OracleEnd.time(value) else { throw rejection(.invalidField, "expires") }
    return OracleSetting(value: end)
  }

  private func readPlace(_ value: OracleJSON) throws(OracleRejection) -> OraclePlace {
    switch value.content {
    case .string(Array("first".utf8)): return .first
    case .string(Array("last".utf8)): return .last
    case .object: break
    default: throw rejection(.invalidField, "at")
    }
    let before = value.last("before")
    let after = value.last("after")
    let index = value.last("index")
    if case .object(let members) = value.content, members.count > 1, !keeps(.atOtherMembers) {
      throw rejection(.invalidField, "at")
    }
    if let index, !keeps(.atOneMember) { return .index(try readIndex(index)) }
    switch (before, after, index) {
    case (let before?, nil, nil): return .before(try readID(before, "at"))
    case (nil, let after?, nil): return .after(try readID(after, "at"))
    case (nil, nil, let index?): return .index(try readIndex(index))
    default: throw rejection(.invalidField, "at")
    }
  }

  private func readIndex(_ value: OracleJSON) throws(OracleRejection) -> Int {
    let text = String(decoding: value.minified, as: UTF8.self)
    guard value.content == .number, value.minified.allSatisfy({ (0x30...0x39).contains($0) }) else {
      if let number = Double(text), number >= 0, !keeps(.indexIsDigits) { return Int(number) }
      throw rejection(.invalidField, "at")
    }
    // The digits are valid, so an overflow is past every end.
    if let index = Int(text) { return index }
    if !keeps(.indexOfAnyLength) { throw rejection(.invalidField, "at") }
    return .max
  }

  private func readItems(
    _ value: OracleJSON,
    seen: inout Set<[UInt8]>
  ) throws(OracleRejection) -> [OracleListedItem] {
    guard let elements = value.elements else { throw rejection(.invalidField, "items") }
    let count = elements.count + (keeps(.itemListsTogether) ? seen.count : 0)
    let isTooLong =
      !isWithin(count, limits.maxItems, "limits.maxItems of a list") && count > itemsBefore
      && keeps(.listLimited)
    if isTooLong, keeps(.lengthBeforeElements) {
      throw OracleRejection(limit: "limits.maxItems", event: number)
    }
    if !keeps(.itemInTwoSections) { seen = [] }
    var items: [OracleListedItem] = []
    for element in elements {
      let idValue: OracleJSON
      switch element.content {
      case .string:
        if element.string == [], !keeps(.listedTextNotEmpty) { continue }
        idValue = element
      case .object:
        guard let found = element.last("id") else { throw rejection(.missingField, "id") }
        idValue = found
      default: throw rejection(.invalidField, "items")
      }
      if !keeps(.listedInReadingOrder) {
        if let found = element.last("data") { _ = try readData(found) }
        if let found = element.last("kind") { _ = try readKind(found) }
        if let id = idValue.string, seen.contains(id) { throw rejection(.duplicateID, "id") }
      }
      let id = try readID(idValue, "id")
      guard seen.insert(id).inserted else {
        if !keeps(.itemTwice) { continue }
        throw rejection(.duplicateID, "id")
      }
      var kind: [UInt8]?
      if let found = element.last("kind") { kind = try readKind(found) }
      var data: [UInt8]?
      if let found = element.last("data") { data = try readData(found) }
      var end: OracleSetting<Int>?
      if let found = element.last("expires") { end = try readEnd(found) }
      var refs: [UInt8]?
      if takesReferences, let found = element.last("refs") {
        refs = try readReferences(found, isPatch: false)
      }
      items.append(OracleListedItem(id: id, kind: kind, data: data, expires: end, refs: refs))
    }
    if isTooLong { throw OracleRejection(limit: "limits.maxItems", event: number) }
    return items
  }

  private func readSections(_ value: OracleJSON) throws(OracleRejection) -> [OracleListedSection] {
    guard let elements = value.elements else { throw rejection(.invalidField, "sections") }
    let isTooLong =
      !isWithin(elements.count, limits.maxSections, "limits.maxSections of a list")
      && elements.count > sectionsBefore
    if isTooLong, keeps(.sectionListLimited) {
      throw OracleRejection(limit: "limits.maxSections", event: number)
    }
    var sections: [OracleListedSection] = []
    var seenItems: Set<[UInt8]> = []
    for element in elements {
      guard case .object = element.content else { throw rejection(.invalidField, "sections") }
      guard let idValue = element.last("id") else { throw rejection(.missingField, "id") }
      let items = element.last("items")
      var listed: [OracleListedItem] = []
      if let items, !keeps(.sectionBeforeItsItems) { listed = try readItems(items, seen: &seenItems) }
      let id = try readID(idValue, "id")
      guard !sections.contains(where: { $0.id == id }) else {
        if !keeps(.sectionTwice) { continue }
        throw rejection(.duplicateID, "id")
      }
      var data: [UInt8]?
      if let found = element.last("order"), !keeps(.listedDataBeforeOrder) {
        _ = try readOrder(found, "sections.order")
      }
      if let found = element.last("data") { data = try readData(found) }
      var order: OracleSetting<OracleSectionOrder>?
      if let found = element.last("order") { order = try readOrder(found, "sections.order") }
      var keep: OracleSetting<Int>?
      if let found = element.last("keep") { keep = try readKeep(found, "sections.keep") }
      var ttl: OracleSetting<Int>?
      if let found = element.last("ttl") { ttl = try readTTL(found) }
      if let items, keeps(.sectionBeforeItsItems) { listed = try readItems(items, seen: &seenItems) }
      sections.append(
        OracleListedSection(
          id: id,
          data: data,
          order: order,
          keep: keep,
          ttl: ttl,
          items: listed,
          hasItems: items != nil
        )
      )
    }
    return sections
  }
}
