/// Reads the lines of replay files: one record a line, in the envelope of `kcat -J` (protocol, section 7).
/// Later lines default to earlier values.
public final class ReplayLineParser {
  private let indexer = JSONIndexer()
  /// The latest line, owned by the indexer.
  private let text: JSONText
  private let arena = ScratchArena()
  @exclusivity(unchecked) private var lastTimestamp: Int64 = 0
  @exclusivity(unchecked) private var lastOffsets: [TopicPartition: Int64] = [:]
  // The previous line's topic-partition, so that most lines need no lookup.
  @exclusivity(unchecked) private var recent: TopicPartition
  @exclusivity(unchecked) private var recentOffset: Int64 = -1
  /// The positions of the latest line's fields; nil if it is not a record.
  @exclusivity(unchecked) private var recentFields: Envelope?
  /// Whether the previous line took so much memory that it is released.
  @exclusivity(unchecked) private var wasLarge = false

  /// The topic of lines without one.
  private let defaultTopic: [UInt8]
  /// The topics of the lines so far.
  @exclusivity(unchecked) private var topics: Set<[UInt8]> = []

  private struct TopicPartition: Hashable {
    var topic: [UInt8]
    var partition: Int32
  }

  /// - Parameter defaultTopic: the topic of lines without one.
  public init(defaultTopic: String = "feeds.items") {
    text = indexer.text
    self.defaultTopic = Array(defaultTopic.utf8)
    recent = TopicPartition(topic: [], partition: 0)
  }

  /// A field's value; a first token of 0 means absent.
  private typealias Field = JSONText.Field

  private struct Envelope {
    var topic: Field = (0, 0)
    var partition: Field = (0, 0)
    var offset: Field = (0, 0)
    var timestamp: Field = (0, 0)
    var headers: Field = (0, 0)
    var key: Field = (0, 0)
    var keyBase64: Field = (0, 0)
    var payload: Field = (0, 0)
    var payloadBase64: Field = (0, 0)
    var value: Field = (0, 0)
  }

  /// The record of a line; nil for a blank one. Valid until the next line, and as long as the parser.
  public func parse(_ line: ByteSpan) throws(ReplayLineError) -> InputRecord? {
    if line.buffer.allSatisfy(JSONText.isSpace) { return nil }
    recentFields = nil
    arena.reset()
    if wasLarge { indexer.trim() }
    wasLarge = line.count > 4 << 20
    do throws(JSONFault) {
      try indexer.index(line)
    } catch {
      guard error.reason == .invalidUTF8 else { throw ReplayLineParser.notObject(error) }
      try indexInvalidUTF8(line)
      return try record(isUTF8: false)
    }
    return try record(isUTF8: true)
  }

  private static func notObject(_ fault: JSONFault) -> ReplayLineError {
    ReplayLineError("is not a JSON object: \(fault.explanation)")
  }

  /// A line with bytes that are not UTF-8 is still a record, which will be rejected: its
  /// structure is read from a copy without them, its strings from the line itself.
  private func indexInvalidUTF8(_ line: ByteSpan) throws(ReplayLineError) {
    let copy = arena.allocate(line.count)
    for at in 0..<line.count { copy[at] = line[at] < 0x80 ? line[at] : UInt8(ascii: "?") }
    do throws(JSONFault) {
      try indexer.index(ByteSpan(UnsafePointer(copy), line.count))
    } catch {
      throw ReplayLineParser.notObject(error)
    }
    text.describe(line, structuredAs: text)
  }

  private func record(isUTF8: Bool) throws(ReplayLineError) -> InputRecord {
    guard text.character(0) == UInt8(ascii: "{") else { throw ReplayLineError("is not a JSON object") }
    let envelope = readFields()
    let topic = try topic(envelope.topic)
    let partition =
      try integer("partition", envelope.partition, in: 0...Int64(Int32.max)).map(Int32.init) ?? 0
    let explicitOffset = try integer("offset", envelope.offset, in: 0...ReplayLineParser.maxOffset)
    let timestamp = try integer("ts", envelope.timestamp, in: .min ... .max) ?? lastTimestamp
    try checkHeaders(envelope.headers)
    let key = try key(envelope)
    let value = try value(envelope, isUTF8: isUTF8)

    let offset = try nextOffset(topic, partition, explicitOffset)
    lastTimestamp = timestamp
    recentFields = envelope
    return InputRecord(
      partition: partition,
      position: RecordPosition(topic: topic, offset: offset, timestamp: timestamp),
      key: key,
      value: value
    )
  }

  /// The headers of the latest record: names and values alternate, nil for a null. Valid until the next line.
  public var headers: [ByteSpan?] {
    guard let fields = recentFields, fields.headers.first != 0, !isNull(fields.headers) else { return [] }
    var headers: [ByteSpan?] = []
    text.forEachElement(of: fields.headers.first) { element in
      headers.append(isNull(element) ? nil : text.string(element.first, arena: arena))
    }
    return headers
  }

  /// The first field of replay files that the latest line lacks.
  public var omittedField: String? {
    guard let fields = recentFields else { return nil }
    let written = [
      ("topic", fields.topic), ("partition", fields.partition), ("offset", fields.offset),
      ("ts", fields.timestamp), ("headers", fields.headers), ("key", fields.key), ("value", fields.value),
    ]
    return written.first { $0.1.first == 0 }?.0
  }

  // MARK: Fields

  /// Finds the fields; of duplicates the last counts.
  private func readFields() -> Envelope {
    var envelope = Envelope()
    text.forEachMember(of: 0, arena: arena) { name, field in
      switch name.count {
      case 2: if name.matches("ts") { envelope.timestamp = field }
      case 3: if name.matches("key") { envelope.key = field }
      case 5:
        if name.matches("topic") {
          envelope.topic = field
        } else if name.matches("value") {
          envelope.value = field
        }
      case 6: if name.matches("offset") { envelope.offset = field }
      case 7:
        if name.matches("payload") {
          envelope.payload = field
        } else if name.matches("headers") {
          envelope.headers = field
        }
      case 9:
        if name.matches("partition") {
          envelope.partition = field
        } else if name.matches("keyBase64") {
          envelope.keyBase64 = field
        }
      case 13: if name.matches("payloadBase64") { envelope.payloadBase64 = field }
      default: break
      }
    }
    return envelope
  }

  private func wrongType(_ name: String, _ expected: String, _ field: Field) -> ReplayLineError {
    let found = text.span(of: field).valueForMessage()
    return ReplayLineError("has a field '\(name)' that is not \(expected): \(found)")
  }

  private func topic(_ field: Field) throws(ReplayLineError) -> [UInt8] {
    guard field.first != 0 else {
      return try recent.topic == defaultTopic ? recent.topic : admitted(defaultTopic)
    }
    guard text.character(field.first) == UInt8(ascii: "\"") else {
      throw wrongType("topic", "a string", field)
    }
    let name = text.string(field.first, arena: arena)
    // Before the first line the recent topic is empty, unlike any name.
    if !name.isEmpty, recent.topic.withUnsafeBytes({ ByteSpan($0).hasSameBytes(as: name) }) {
      return recent.topic
    }
    guard TopicName.isLegal(name) else {
      throw wrongType("topic", "a topic's name, \(TopicName.allowed)", field)
    }
    return try admitted(Array(name.buffer))
  }

  /// The topic, if another line has named it, or if there is room for it.
  private func admitted(_ topic: [UInt8]) throws(ReplayLineError) -> [UInt8] {
    if topics.contains(topic) { return topic }
    guard topics.count < TopicOffset.greatestCount else {
      throw ReplayLineError(
        """
        has the topic \(topic.withUnsafeBytes { ByteSpan($0).quotedForMessage() }), one more than the \
        \(TopicOffset.greatestCount) that the files of one command may have, as each changeset lists the topics of its \
        feed; give these records another topic, or use a command of their own for them
        """
      )
    }
    topics.insert(topic)
    return topic
  }

  private func integer(
    _ name: String,
    _ field: Field,
    in range: ClosedRange<Int64>
  ) throws(ReplayLineError) -> Int64? {
    guard field.first != 0 else { return nil }
    let first = text.character(field.first)
    guard first == UInt8(ascii: "-") || first &- 0x30 < 10, let value = text.integer(field.first),
      range.contains(value)
    else {
      throw wrongType(name, "an integer from \(range.lowerBound) to \(range.upperBound)", field)
    }
    return value
  }

  private func checkHeaders(_ field: Field) throws(ReplayLineError) {
    guard field.first != 0, !isNull(field) else { return }
    guard text.character(field.first) == UInt8(ascii: "[") else {
      throw wrongType("headers", "an array of names and values", field)
    }
    try text.forEachElement(of: field.first) { element throws(ReplayLineError) in
      guard text.character(element.first) == UInt8(ascii: "\"") || isNull(element) else {
        throw wrongType("headers", "an array of names and values", field)
      }
    }
  }

  private func isNull(_ field: Field) -> Bool { text.character(field.first) == UInt8(ascii: "n") }

  private func optionalString(_ name: String, _ field: Field) throws(ReplayLineError) -> ByteSpan? {
    guard field.first != 0, !isNull(field) else { return nil }
    guard text.character(field.first) == UInt8(ascii: "\"") else {
      throw wrongType(name, "a string or null", field)
    }
    return text.string(field.first, arena: arena)
  }

  private func value(_ envelope: Envelope, isUTF8: Bool) throws(ReplayLineError) -> InputRecord.Value {
    switch (envelope.value.first != 0, envelope.payload.first != 0, envelope.payloadBase64.first != 0) {
    case (true, true, _): throw ReplayLineParser.tooMany("value", "payload")
    case (true, _, true): throw ReplayLineParser.tooMany("value", "payloadBase64")
    case (_, true, true): throw ReplayLineParser.tooMany("payload", "payloadBase64")
    case (false, false, false):
      throw ReplayLineError("has neither 'value' nor 'payload' nor 'payloadBase64'; one of them is required")
    case (_, true, _):
      guard let payload = try optionalString("payload", envelope.payload) else { return .null }
      return .bytes(payload)
    case (_, _, true): return .bytes(try base64("payloadBase64", envelope.payloadBase64))
    case (true, false, false): break
    }
    if isNull(envelope.value) { return .null }
    guard isUTF8 else { return .bytes(text.span(of: envelope.value)) }
    return .json(.passUnretained(text), first: envelope.value.first, end: envelope.value.end)
  }

  private func key(_ envelope: Envelope) throws(ReplayLineError) -> ByteSpan? {
    guard envelope.keyBase64.first != 0 else { return try optionalString("key", envelope.key) }
    guard envelope.key.first == 0 else { throw ReplayLineParser.tooMany("key", "keyBase64") }
    return try base64("keyBase64", envelope.keyBase64)
  }

  private static func tooMany(_ one: String, _ other: String) -> ReplayLineError {
    ReplayLineError("has both '\(one)' and '\(other)'; only one is allowed")
  }

  private func base64(_ name: String, _ field: Field) throws(ReplayLineError) -> ByteSpan {
    guard text.character(field.first) == UInt8(ascii: "\""),
      let bytes = Base64.decoded(text.string(field.first, arena: arena), arena: arena)
    else { throw wrongType(name, "a string in Base64 with padding (RFC 4648, section 4)", field) }
    return bytes
  }

  // MARK: Offsets

  /// The largest offset that a changeset can have in `through`.
  private static let maxOffset = DecodedChangeset.greatestNumber

  private func nextOffset(
    _ topic: [UInt8],
    _ partition: Int32,
    _ explicit: Int64?
  ) throws(ReplayLineError) -> Int64 {
    if topic != recent.topic || partition != recent.partition {
      lastOffsets[recent] = recentOffset
      recent = TopicPartition(topic: topic, partition: partition)
      recentOffset = lastOffsets[recent] ?? -1
    }
    guard explicit != nil || recentOffset < ReplayLineParser.maxOffset else {
      throw ReplayLineError("has no field 'offset', and the line before it has the largest there is")
    }
    recentOffset = explicit ?? recentOffset + 1
    return recentOffset
  }
}

/// A line of a replay file that is not a record's envelope.
public struct ReplayLineError: Error, Sendable, Equatable {
  /// The problem, with the field's name.
  public let problem: String

  init(_ problem: String) { self.problem = problem }
}

/// Base64 of RFC 4648, section 4: with padding, and in canonical form.
enum Base64 {
  /// The decoded bytes, in the arena; nil if the text is not Base64.
  static func decoded(_ text: ByteSpan, arena: ScratchArena) -> ByteSpan? {
    guard text.count % 4 == 0 else { return nil }
    if text.isEmpty { return .empty }
    var padding = 0
    while padding < 2, text[text.count - 1 - padding] == UInt8(ascii: "=") { padding += 1 }
    let bytes = arena.allocate(text.count / 4 * 3)
    var written = 0
    for start in stride(from: 0, to: text.count, by: 4) {
      let isLast = start + 4 == text.count
      var group: UInt32 = 0
      for at in start..<start + 4 {
        let isPadding = isLast && at >= text.count - padding
        guard let digit = isPadding ? 0 : digit(text[at]) else { return nil }
        group = group << 6 | digit
      }
      let count = isLast ? 3 - padding : 3
      // The unused bits must be 0, so that each byte sequence has one spelling.
      if group & ((1 << UInt32(8 * (3 - count))) - 1) != 0 { return nil }
      for index in 0..<count {
        bytes[written + index] = UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * index))
      }
      written += count
    }
    return ByteSpan(UnsafePointer(bytes), written)
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
