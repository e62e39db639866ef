/// The condition of an event, `if` (protocol, section 2.14).
struct OracleCondition: Sendable, Equatable {
  let revision: Int?
  let epoch: [UInt8]?
  let absent: [UInt8]?
  let item: [UInt8]?
  let data: [Entry]

  struct Entry: Sendable, Equatable {
    let pointer: OraclePointer
    let value: OracleJSON
  }

  /// nil if its form is wrong.
  init?(_ json: OracleJSON) {
    guard case .object(let members) = json.content, !members.isEmpty || !keeps(.conditionNotEmpty),
      json.minified.count <= 16_384 || !keeps(.conditionLimited)
    else { return nil }
    let known = ["revision", "epoch", "absent", "item", "data"].map { Array($0.utf8) }
    if !members.allSatisfy({ known.contains($0.name) }), keeps(.conditionMembersKnown) { return nil }
    revision = json.last("revision").flatMap(Self.number)
    epoch = json.last("epoch")?.string
    absent = json.last("absent")?.string
    item = json.last("item")?.string
    if json.last("revision") != nil, revision == nil { return nil }
    if json.last("epoch") != nil, epoch?.isEmpty ?? true { return nil }
    for (name, id) in [("absent", absent), ("item", item)] where json.last(name) != nil {
      guard let id, (1...255).contains(id.count) || !keeps(.conditionIDs) else { return nil }
    }
    guard let data = json.last("data") else {
      self.data = []
      return
    }
    guard case .object(let values) = data.content, !values.isEmpty || !keeps(.conditionDataNotEmpty),
      values.count <= 16 || !keeps(.conditionDataLimited), item != nil || !keeps(.conditionDataOfItem)
    else { return nil }
    var entries: [Entry] = []
    for value in values {
      guard let pointer = OraclePointer(value.name) else { return nil }
      let last = values.last { $0.name == value.name } ?? value
      switch last.value.content {
      case .array, .object: if keeps(.conditionScalars) { return nil }
      default: break
      }
      entries.append(Entry(pointer: pointer, value: last.value))
    }
    self.data = entries
  }

  private static func number(_ json: OracleJSON) -> Int? {
    let text = String(decoding: json.minified, as: UTF8.self)
    let isPlain = json.minified.allSatisfy { (0x30...0x39).contains($0) }
    guard json.content == .number, isPlain || !keeps(.conditionDigits) else { return nil }
    guard let number = isPlain ? Int(text) : Double(text).flatMap({ Int(exactly: $0.rounded(.down)) }) else {
      return nil
    }
    return number < 1 << 53 || !keeps(.conditionRevisionLimited) ? number : nil
  }

  /// Whether it holds before a record.
  func holds(for state: OracleFeedState) -> Bool {
    var results: [Bool] = []
    if let epoch, keeps(.conditionEpoch) {
      results.append(state.published.map { Array($0.epoch.utf8) } == epoch)
    }
    if let revision, keeps(.conditionRevision) {
      let isPending = state.published?.feed != state.current || !state.forced.isEmpty
      let published = state.published?.revision ?? (keeps(.conditionRevisionZero) ? 0 : -1)
      results.append(published == revision && (!isPending || !keeps(.conditionPending)))
    }
    if let absent, keeps(.conditionAbsent) { results.append(state.current?.location(of: absent) == nil) }
    if let item {
      let known = state.current?.itemsByID[item]
      if keeps(.conditionItem) { results.append(known != nil) }
      // The data was valid JSON when it was stored.
      let json = known.flatMap { try? OracleJSON.parse($0.data, maxDepth: .max) }
      results += data.map { Self.isEqual($0.value, json.flatMap($0.pointer.value(in:))) }
    }
    return keeps(.conditionAll) ? results.allSatisfy { $0 } : results.contains(true)
  }

  private static func isEqual(_ value: OracleJSON, _ found: OracleJSON?) -> Bool {
    if !keeps(.conditionData) { return true }
    if value.content == .null {
      return found == nil && keeps(.conditionNullIsNothing) || found?.content == .null
        || OracleSortValue(found) == .other && !keeps(.conditionContainers)
    }
    if !keeps(.conditionByValue) { return value.minified == found?.minified }
    return OracleSortValue(value) == OracleSortValue(found)
  }
}
