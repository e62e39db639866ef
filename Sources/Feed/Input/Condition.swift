/// The condition of an event, `if`: what must hold before the record, or it is rejected.
struct Condition {
  /// The event's number in the record.
  let event: Int
  fileprivate(set) var revision: Int?
  fileprivate(set) var epoch: ByteSpan?
  /// An item that must not exist.
  fileprivate(set) var absent: ByteSpan?
  /// An item that must exist.
  fileprivate(set) var item: ByteSpan?
  /// Values that the item's data must have.
  fileprivate(set) var data: [(pointer: JSONPointer, name: ByteSpan, value: ByteSpan)] = []

  fileprivate init(event: Int) { self.event = event }

  /// The maximum number of members of `data`.
  fileprivate static let mostValues = 16
  /// The maximum length of a condition, in bytes without white space.
  fileprivate static let mostBytes = 16_384
  private static let greatestID = 255
  fileprivate static let greatestRevision = 1 << 53 - 1

  fileprivate static func isID(_ id: ByteSpan) -> Bool { (1...greatestID).contains(id.count) }
}

// MARK: - Decoding

extension RecordDecoder {
  /// Reads the condition of the latest event.
  @inline(never)
  func readCondition(_ field: EventField) throws(Rejection) {
    var condition = Condition(event: events.count - 1)
    let whole = text.compactSpan(from: field.value.first, to: field.value.end, arena: arena)
    guard text.character(field.value.first) == UInt8(ascii: "{"), !whole.matches("{}") else {
      throw invalid(field, #"must be an object with "revision", "epoch", "absent" or "item""#)
    }
    guard whole.count <= Condition.mostBytes else {
      throw invalid(field, "has \(whole.count) bytes, more than \(Condition.mostBytes)")
    }
    var members: [(name: ByteSpan, value: JSONText.Field)] = []
    let names: [StaticString] = ["revision", "epoch", "absent", "item", "data"]
    try text.forEachMember(of: field.value.first, arena: arena) { name, value throws(Rejection) in
      guard names.contains(where: { name.matches($0) }) else {
        throw conditionFault("", "has an unknown member", found: name.quotedForMessage())
      }
      // Of duplicates the last counts.
      members.removeAll { $0.name.hasSameBytes(as: name) }
      members.append((name, value))
    }
    for (name, value) in members {
      let found = text.span(of: value)
      let string =
        text.character(value.first) == UInt8(ascii: "\"") ? text.string(value.first, arena: arena) : .empty
      if name.matches("revision") {
        guard let number = RecordDecoder.plainIndex(found), number <= Condition.greatestRevision else {
          let problem = "must be an integer from 0 to \(Condition.greatestRevision)"
          throw conditionFault(".revision", problem, found: found.valueForMessage())
        }
        condition.revision = number
      } else if name.matches("epoch") {
        guard !string.isEmpty else {
          throw conditionFault(".epoch", "must be the name of an epoch", found: found.valueForMessage())
        }
        condition.epoch = string
      } else if name.matches("data") {
        condition.data = try conditionData(value)
      } else {
        guard Condition.isID(string) else {
          throw conditionFault(".\(name.text)", "must be the id of an item", found: found.valueForMessage())
        }
        if name.matches("item") { condition.item = string } else { condition.absent = string }
      }
    }
    if !condition.data.isEmpty, condition.item == nil {
      throw conditionFault("", #"has "data" without the "item""#, found: whole.valueForMessage())
    }
    conditions.append(condition)
    (hasConditions, hasLists) = (true, true)
  }

  private func conditionData(
    _ object: JSONText.Field
  ) throws(Rejection) -> [(pointer: JSONPointer, name: ByteSpan, value: ByteSpan)] {
    var data: [(pointer: JSONPointer, name: ByteSpan, value: ByteSpan)] = []
    let isObject = text.character(object.first) == UInt8(ascii: "{")
    var count = 0
    if isObject { text.forEachMember(of: object.first, arena: arena) { _, _ in count += 1 } }
    guard (1...Condition.mostValues).contains(count) else {
      let problem = "must be an object with 1 to \(Condition.mostValues) members"
      throw conditionFault(".data", problem, found: text.span(of: object).valueForMessage())
    }
    try text.forEachMember(of: object.first, arena: arena) { name, value throws(Rejection) in
      guard let pointer = JSONPointer(name) else {
        let problem = #"must name its members by JSON Pointers, such as "/status", of at most 255 bytes"#
        throw conditionFault(".data", problem, found: name.quotedForMessage())
      }
      data.removeAll { $0.name.hasSameBytes(as: name) }
      data.append((pointer, name, text.span(of: value)))
    }
    for entry in data where entry.value[0] == UInt8(ascii: "{") || entry.value[0] == UInt8(ascii: "[") {
      let problem = "must have strings, numbers, true, false or null"
      throw conditionFault(".data", problem, found: entry.value.valueForMessage())
    }
    return data
  }

  private func conditionFault(_ member: String, _ problem: String, found: String) -> Rejection {
    Rejection(.invalidField, field: "if" + member, problem, found: found)
  }
}

// MARK: - Deciding

extension PublishedFeed {
  /// Rejects a record whose conditions do not all hold.
  @inline(never)
  func checkConditions(of decoder: RecordDecoder) throws(Rejection) {
    for condition in decoder.conditions {
      guard let rejection = rejection(by: condition) else { continue }
      throw decoder.isArray ? rejection.inEvent(condition.event) : rejection
    }
  }

  private func rejection(by condition: Condition) -> Rejection? {
    func failure(_ member: String, _ expected: String, _ found: String) -> Rejection {
      Rejection(.conditionFailed, field: "if.\(member)", "expects \(expected)", found: found)
    }
    if let epoch = condition.epoch,
      !(version?.epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: epoch) } ?? false)
    {
      let found = version?.epoch.withUnsafeBytes { ByteSpan($0).quotedForMessage() }
      return failure("epoch", epoch.quotedForMessage(), found ?? "no published feed")
    }
    if let revision = condition.revision {
      let published = version.map { Int(clamping: $0.revision) } ?? 0
      let isPending = published == revision && hasUnpublishedChanges
      if published != revision || isPending {
        let found = exists || version != nil ? "revision \(published)" : "no feed"
        return failure("revision", "\(revision)", isPending ? "unpublished changes after it" : found)
      }
    }
    if let absent = condition.absent, let item = state.items.findPresent(absent) {
      let found = state.items[item].data.valueForMessage()
      return failure("absent", "no item \(absent.quotedForMessage())", "one with the data \(found)")
    }
    guard let id = condition.item else { return nil }
    guard let item = state.items.findPresent(id) else {
      return failure("item", "an item \(id.quotedForMessage())", "none")
    }
    let data = state.items[item].data
    for (pointer, name, value) in condition.data {
      let place = pointer.find(in: data)
      // Not only equal in order, where arrays and objects equal null.
      let holds =
        value[0] == UInt8(ascii: "n")
        ? place.map { data[$0] == UInt8(ascii: "n") } ?? true
        : SortValue(value, at: 0).compare(SortValue(data, at: place)) == 0
      if holds { continue }
      var scanner = JSONScanner(data)
      let found = place.map { ByteSpan(data.base + $0, scanner.endOfValue($0) - $0).valueForMessage() }
      let expected =
        "\(value.valueForMessage()) at \(name.quotedForMessage()) of item \(id.quotedForMessage())"
      return failure("data", expected, found ?? "nothing")
    }
    return nil
  }

  /// Whether a flush would publish a changeset now.
  private var hasUnpublishedChanges: Bool {
    guard exists else { return version != nil }
    return version == nil || isReloadRequested || state.isChanged
  }
}
