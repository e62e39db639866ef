/// The head of a changeset record, and the positions of its lists in the text.
package struct DecodedChangeset {
  package typealias Field = JSONText.Field

  /// The greatest revision, offset and position: the greatest integer that every JSON reader represents
  /// exactly, and too large to be reached.
  static let greatestNumber: Int64 = 1 << 53 - 1

  package let text: JSONText
  let arena: ScratchArena
  package private(set) var feed = ByteSpan.empty
  package private(set) var epoch = ByteSpan.empty
  package private(set) var revision: UInt64 = 0
  package private(set) var base: UInt64 = 0
  package private(set) var part = 0
  package private(set) var parts = 1
  package private(set) var mode = ChangesetMode.diff
  package private(set) var reason: ReloadReason?
  /// The reason's JSON string; empty if there is none.
  package private(set) var reasonText = ByteSpan.empty
  package private(set) var time = ByteSpan.empty
  private var through: Field = (0, 0)
  package private(set) var checksum: UInt32 = 0
  package private(set) var sections: Field = (0, 0)
  package private(set) var items: Field = (0, 0)

  /// Reads the head of a value.
  package init(_ value: ByteSpan, _ indexer: JSONIndexer, arena: ScratchArena) throws(ReplicaFault) {
    let text: JSONText
    do throws(JSONFault) {
      text = try indexer.validatedWithPairedSurrogates(value)
    } catch {
      throw ReplicaFault("the value is not JSON: \(error.explanation)")
    }
    self.text = text
    self.arena = arena
    guard text.character(0) == UInt8(ascii: "{") else {
      throw ReplicaFault("the value is not a JSON object")
    }
    // One bit per field, because a field may occur twice.
    var required: UInt8 = 0
    try forEachMember((0, text.tokenAfterValue(0))) { name, field throws(ReplicaFault) in
      if let number = try read(name, field) { required |= 1 << number }
    }
    guard required == .max else {
      throw ReplicaFault(
        "the value lacks one of feed, epoch, revision, base, mode, time, through and checksum"
      )
    }
    guard part >= 0, parts >= 1, part < parts, parts <= RecordKey.greatestNumber + 1 else {
      throw ReplicaFault("part \(part) of \(parts) parts is not possible")
    }
  }

  /// Reads a field; returns the number, from 0 to 7, of a required field.
  private mutating func read(_ name: ByteSpan, _ field: Field) throws(ReplicaFault) -> UInt8? {
    if name.matches("feed") {
      feed = try string(name, field)
      return 0
    } else if name.matches("epoch") {
      epoch = try string(name, field)
      // The topic, a colon, milliseconds, a slash and an offset.
      guard epoch.count <= TopicName.greatestByteCount + 41 else { throw invalid(name, field) }
      return 1
    } else if name.matches("revision") {
      revision = UInt64(try integer(name, field))
      return 2
    } else if name.matches("base") {
      base = UInt64(try integer(name, field))
      return 3
    } else if name.matches("mode") {
      guard let mode = ChangesetMode(rawValue: try string(name, field).text) else {
        throw invalid(name, field)
      }
      self.mode = mode
      return 4
    } else if name.matches("time") {
      time = try string(name, field)
      return 5
    } else if name.matches("through") {
      try readThrough(name, field)
      return 6
    } else if name.matches("checksum") {
      let digits = try string(name, field)
      // Eight lower-case digits, as specified.
      guard digits.count == 8, digits.buffer.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }),
        let checksum = UInt32(digits.text, radix: 16)
      else { throw invalid(name, field) }
      self.checksum = checksum
      return 7
    } else {
      try readOptional(name, field)
      return nil
    }
  }

  private mutating func readOptional(_ name: ByteSpan, _ field: Field) throws(ReplicaFault) {
    if name.matches("part") {
      part = Int(try integer(name, field))
    } else if name.matches("parts") {
      parts = Int(try integer(name, field))
    } else if name.matches("reason") {
      // A later minor version may have other reasons; the reload is valid anyway.
      reason = ReloadReason(rawValue: try string(name, field).text)
      reasonText = data(field)
    } else if name.matches("sections") {
      sections = field
    } else if name.matches("items") {
      items = field
    }
  }

  private mutating func readThrough(_ name: ByteSpan, _ field: Field) throws(ReplicaFault) {
    guard text.character(field.first) == UInt8(ascii: "{") else { throw invalid(name, field) }
    var count = 0
    try text.forEachMember(of: field.first, arena: arena) { topic, offset throws(ReplicaFault) in
      _ = try integer(topic, offset)
      count += 1
      // Otherwise a store that continues from this state could have too large changesets.
      guard TopicName.isLegal(topic), count <= TopicOffset.greatestCount else { throw invalid(name, field) }
    }
    through = field
  }

  /// Sets a list to the changeset's newest records by topic. Most changesets name the same topics as their
  /// predecessor: their names are not copied again.
  package func takeThrough(to offsets: inout [TopicOffset]) {
    var count = 0
    text.forEachMember(of: through.first, arena: arena) { topic, field in
      guard let offset = text.integer(field.first) else { preconditionFailure("an offset was not checked") }
      if count < offsets.count,
        offsets[count].topic.withUnsafeBytes({ ByteSpan($0).hasSameBytes(as: topic) })
      {
        offsets[count].offset = offset
      } else {
        offsets.removeSubrange(count...)
        offsets.append(TopicOffset(topic: Array(topic.buffer), offset: offset))
      }
      count += 1
    }
    offsets.removeSubrange(count...)
  }

  // MARK: Values

  func invalid(_ name: ByteSpan, _ field: Field) -> ReplicaFault {
    ReplicaFault(
      "the field \(name.quotedForMessage()) is not valid: \(text.span(from: field.first, to: field.end).valueForMessage())"
    )
  }

  package func string(_ name: ByteSpan, _ field: Field) throws(ReplicaFault) -> ByteSpan {
    guard text.character(field.first) == UInt8(ascii: "\"") else { throw invalid(name, field) }
    return text.string(field.first, arena: arena)
  }

  func integer(_ name: ByteSpan, _ field: Field) throws(ReplicaFault) -> Int64 {
    guard text.character(field.first) &- 0x30 < 10, let value = text.integer(field.first),
      (0...Self.greatestNumber).contains(value)
    else { throw invalid(name, field) }
    return value
  }

  /// The members of an object: name, and position of the value.
  @inline(__always)
  package func forEachMember(
    _ field: Field,
    _ body: (ByteSpan, Field) throws(ReplicaFault) -> Void
  ) throws(ReplicaFault) {
    guard text.character(field.first) == UInt8(ascii: "{") else { throw invalid("object", field) }
    try text.forEachMember(of: field.first, arena: arena) { name, value throws(ReplicaFault) in
      do throws(ReplicaFault) {
        try body(name, value)
      } catch {
        // Of members with the same name the last one counts.
        guard isRepeated(name, after: value) else { throw error }
      }
    }
  }

  /// Whether an object has a second member of a name after a value.
  @inline(never)
  private func isRepeated(_ name: ByteSpan, after value: Field) -> Bool {
    var token = value.end
    while text.character(token) == UInt8(ascii: ",") {
      if text.string(token + 1, arena: arena).hasSameBytes(as: name) { return true }
      token = text.tokenAfterValue(token + 3)
    }
    return false
  }

  /// The elements of an array.
  @inline(__always)
  package func forEachElement(
    _ field: Field,
    _ body: (Field) throws(ReplicaFault) -> Void
  ) throws(ReplicaFault) {
    guard text.character(field.first) == UInt8(ascii: "[") else { throw invalid("array", field) }
    try text.forEachElement(of: field.first, body)
  }

  private func invalid(_ expected: StaticString, _ field: Field) -> ReplicaFault {
    ReplicaFault(
      "expected an \(expected), found \(text.span(from: field.first, to: field.end).valueForMessage())"
    )
  }

  /// An item's references; nil if they are invalid, as they may be in a later version.
  func references(_ field: Field) -> ByteSpan? {
    let text = data(field)
    return References.areValid(text) ? text : nil
  }

  package func data(_ field: Field) -> ByteSpan {
    text.compactSpan(from: field.first, to: field.end, arena: arena)
  }
}
