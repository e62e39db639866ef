import Feed

/// Parses a record's value into events, or finds the first error in its form.
struct OracleEventReader {
  /// The fields in the table of the protocol, section 2.2, in its order.
  private enum Field: String {
    case sections, section, items, item, kind, data, at
  }

  private let limits: Limits
  /// The numbers of items and sections before the record: a list may have as many, even above the limits.
  private let itemsBefore: Int
  private let sectionsBefore: Int
  /// The index of the current event, in a record that is an array.
  private var number: Int?

  init(limits: Limits, before: OracleFeed?) {
    self.limits = limits
    itemsBefore = before?.itemCount ?? 0
    sectionsBefore = before?.sections.count ?? 0
  }

  mutating func read(_ value: OracleJSON) throws(OracleRejection) -> [OracleEvent] {
    if case .object = value.content {
      guard limits.maxEvents >= 1 else { throw OracleRejection(.limitExceeded) }
      return [try readEvent(value)]
    }
    guard let values = value.elements else { throw OracleRejection(.invalidField) }
    guard values.count <= limits.maxEvents else { throw OracleRejection(.limitExceeded) }
    var events: [OracleEvent] = []
    for (number, value) in values.enumerated() {
      self.number = number
      events.append(try readEvent(value))
    }
    return events
  }

  private func rejection(_ code: OracleRejectCode, _ field: String? = nil) -> OracleRejection {
    OracleRejection(code, event: number, field: field)
  }

  /// The op's fields in the table's order, and whether each is required.
  private static func fields(of op: OracleOp) -> [(field: Field, required: Bool)] {
    switch op {
    case .feedReplace: [(.sections, true)]
    case .feedClear, .feedDelete, .feedReload: []
    case .sectionUpsert: [(.section, true), (.data, false), (.at, false)]
    case .sectionReplace: [(.section, true), (.items, true), (.data, false), (.at, false)]
    case .sectionMove: [(.section, true), (.at, true)]
    case .sectionDelete, .sectionReload: [(.section, true)]
    case .itemUpsert: [(.item, true), (.section, false), (.kind, false), (.data, false), (.at, false)]
    case .itemPatch: [(.item, true), (.data, true)]
    case .itemMove: [(.item, true), (.section, false), (.at, false)]
    case .itemDelete, .itemReconfigure, .itemReload: [(.item, true)]
    }
  }

  private func readEvent(_ value: OracleJSON) throws(OracleRejection) -> OracleEvent {
    guard case .object = value.content else { throw rejection(.invalidField) }
    guard let opValue = value.last("op") else { throw rejection(.missingField, "op") }
    guard let opName = opValue.string else { throw rejection(.invalidField, "op") }
    guard let op = OracleOp.allCases.first(where: { Array($0.rawValue.utf8) == opName }) else {
      throw rejection(.unknownOp, "op")
    }
    var event = OracleEvent(op: op, number: number)
    for (field, required) in Self.fields(of: op) {
      guard let found = value.last(field.rawValue) else {
        if required { throw rejection(.missingField, field.rawValue) }
        continue
      }
      switch field {
      case .section: event.section = try readID(found, "section")
      case .item: event.item = try readID(found, "item")
      case .kind: event.kind = try readKind(found)
      case .at: event.place = try readPlace(found)
      case .data:
        _ = try readData(found)
        event.data = found
      case .items:
        var seen: Set<[UInt8]> = []
        event.items = try readItems(found, seen: &seen)
      case .sections: event.sections = try readSections(found)
      }
    }
    return event
  }

  private func readID(_ value: OracleJSON, _ field: String) throws(OracleRejection) -> [UInt8] {
    guard let id = value.string, !id.isEmpty else { throw rejection(.invalidField, field) }
    guard id.count <= limits.maxIdBytes else { throw rejection(.limitExceeded, field) }
    return id
  }

  private func readKind(_ value: OracleJSON) throws(OracleRejection) -> [UInt8] {
    guard let kind = value.string else { throw rejection(.invalidField, "kind") }
    guard kind.count <= limits.maxIdBytes else { throw rejection(.limitExceeded, "kind") }
    return kind
  }

  private func readData(_ value: OracleJSON) throws(OracleRejection) -> [UInt8] {
    guard value.minified.count <= limits.maxDataBytes else { throw rejection(.limitExceeded, "data") }
    return value.minified
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
    switch (before, after, index) {
    case (let before?, nil, nil): return .before(try readID(before, "at"))
    case (nil, let after?, nil): return .after(try readID(after, "at"))
    case (nil, nil, let index?): return .index(try readIndex(index))
    default: throw rejection(.invalidField, "at")
    }
  }

  private func readIndex(_ value: OracleJSON) throws(OracleRejection) -> Int {
    guard value.content == .number, value.minified.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw rejection(.invalidField, "at")
    }
    // The digits are valid, so an overflow is past every end.
    return Int(String(decoding: value.minified, as: UTF8.self)) ?? .max
  }

  private func readItems(
    _ value: OracleJSON,
    seen: inout Set<[UInt8]>
  ) throws(OracleRejection) -> [OracleListedItem] {
    guard let elements = value.elements else { throw rejection(.invalidField, "items") }
    let count = seen.count + elements.count
    if count > limits.maxItems, count > itemsBefore {
      throw OracleRejection(limit: "limits.maxItems", event: number)
    }
    var items: [OracleListedItem] = []
    for element in elements {
      let idValue: OracleJSON
      switch element.content {
      case .string: idValue = element
      case .object:
        guard let found = element.last("id") else { throw rejection(.missingField, "id") }
        idValue = found
      default: throw rejection(.invalidField, "items")
      }
      let id = try readID(idValue, "id")
      guard seen.insert(id).inserted else { throw rejection(.duplicateID, "id") }
      var kind: [UInt8]?
      if let found = element.last("kind") { kind = try readKind(found) }
      var data: [UInt8]?
      if let found = element.last("data") { data = try readData(found) }
      items.append(OracleListedItem(id: id, kind: kind, data: data))
    }
    return items
  }

  private func readSections(_ value: OracleJSON) throws(OracleRejection) -> [OracleListedSection] {
    guard let elements = value.elements else { throw rejection(.invalidField, "sections") }
    if elements.count > limits.maxSections, elements.count > sectionsBefore {
      throw OracleRejection(limit: "limits.maxSections", event: number)
    }
    var sections: [OracleListedSection] = []
    var seenItems: Set<[UInt8]> = []
    for element in elements {
      guard case .object = element.content else { throw rejection(.invalidField, "sections") }
      guard let idValue = element.last("id") else { throw rejection(.missingField, "id") }
      let id = try readID(idValue, "id")
      guard !sections.contains(where: { $0.id == id }) else { throw rejection(.duplicateID, "id") }
      var data: [UInt8]?
      if let found = element.last("data") { data = try readData(found) }
      var items: [OracleListedItem] = []
      if let found = element.last("items") { items = try readItems(found, seen: &seenItems) }
      sections.append(OracleListedSection(id: id, data: data, items: items))
    }
    return sections
  }
}
