import CTextMarks
package import Feed
package import FeedConfiguration
package import FeedStore
import Glibc
import Service

/// Maps the records of one source to records of feeds: a row to the upsert or the deletion of an item (docs/ingest.md).
///
/// Pure: it knows the record, the mapping, and which sections were sent. Its results are valid until the next record, and as long
/// as the record's bytes.
package final class RowMapper {
  package let source: IngestSource
  private let number: Int
  private let isKeyed: Bool
  private let limits: Limits
  private let sections: SentSections
  private let (feed, section, item): (Template, Template, Template)
  private let kind: Template?
  private let memberNames: [(quoted: String, pointer: JSONPointer)]
  /// The members that say where a row is.
  private let columns: [JSONPointer]
  private let indexer = JSONIndexer()
  private let keyIndexer = JSONIndexer()
  private let arena = ScratchArena()
  private let output = ByteWriter()
  /// The data of an item that has some of the row's members.
  private let members = ByteWriter()
  @exclusivity(unchecked) private var parts: [ByteSpan] = []
  @exclusivity(unchecked) private var outputs: [(feed: ByteSpan, value: Range<Int>)] = []
  /// How many records had each outcome, but for the most frequent one.
  @exclusivity(unchecked) private var counts: [String: Int] = [:]
  @exclusivity(unchecked) private var upserted = 0

  /// The latest record's key, and if it is JSON, the first token of its value.
  @exclusivity(unchecked) private var keyBytes: ByteSpan?
  @exclusivity(unchecked) private var key: Int?
  /// Whether the record may have a placeholder; most have none, and are not searched token by token.
  @exclusivity(unchecked) private var mayLackValues = false
  /// Whether the record does not have all of the row, so that the row's item stays as it is.
  @exclusivity(unchecked) private var isPartial = false

  private typealias Place = (feed: ByteSpan, item: ByteSpan)

  /// What a record has become.
  package enum Outcome {
    case upserted, deleted
    /// The row does not pass `where`.
    case filtered
    /// It is no row: a heartbeat, for example, or a null after a deletion.
    case skipped
    /// The row is in no feed: if it is known where it was, there is a record that deletes it there. But what the record does not
    /// say stays as it is.
    case rejected(Rejection)

    /// A word for people; the code of a rejection.
    package var name: String {
      switch self {
      case .upserted: "upserted"
      case .deleted: "deleted"
      case .filtered: "filtered"
      case .skipped: "skipped"
      case .rejected(let rejection): rejection.code.rawValue
      }
    }
  }

  /// - Parameter number: the source's, in the list of sources.
  package init(_ source: IngestSource, number: Int, _ limits: Limits, _ sections: SentSections) {
    self.source = source
    isKeyed = source.isKeyed
    self.number = number
    self.limits = limits
    self.sections = sections
    feed = Template(source.feed, "feed")
    section = Template(source.section, "section")
    item = Template(source.item, "item")
    kind = source.kind.map { Template($0, "kind") }
    memberNames = (source.members ?? []).map { (IngestTemplate.quoted($0), JSONPointer(members: [$0])) }
    let pointers = (source.feed.parts + source.item.parts).compactMap {
      if case .row(let it) = $0 { it } else { nil }
    }
    columns = (pointers + source.conditions.map(\.pointer)).map(\.column)
  }

  /// The records that the latest one becomes; two if the row goes from one feed to another.
  package var recordCount: Int { outputs.count }

  package func record(_ index: Int) -> (feed: ByteSpan, value: ByteSpan) {
    (outputs[index].feed, output.span(outputs[index].value))
  }

  /// Hands out how many records had which outcome, and counts again from 0.
  package func takeCounts() -> [String: Int] {
    defer { (counts, upserted) = ([:], 0) }
    return upserted == 0 ? counts : counts.merging([Outcome.upserted.name: upserted]) { $1 }
  }

  /// Maps a record, which then is the latest.
  ///
  /// - Parameter isRekeyed: whether it has the header ``rekeyedHeader``; asked of deletions.
  package func map(key: ByteSpan?, value: ByteSpan?, isRekeyed: () -> Bool = { false }) -> Outcome {
    arena.reset()
    isPartial = false
    output.removeAll(keepCapacity: 1 << 20)
    outputs.removeAll(keepingCapacity: true)
    var outcome = Outcome.skipped
    do throws(Rejection) {
      keyBytes = key
      self.key = key.flatMap { try? keyIndexer.validatedWithPairedSurrogates($0) }.map { start(of: $0) }
      if let value { outcome = try mapValue(value, isRekeyed) } else { outcome = try mapNull(isRekeyed) }
    } catch {
      outcome = .rejected(error)
    }
    if case .upserted = outcome { upserted += 1 } else { counts[outcome.name, default: 0] += 1 }
    return outcome
  }

  private func mapValue(_ value: ByteSpan, _ isRekeyed: () -> Bool) throws(Rejection) -> Outcome {
    guard value.count <= limits.maxRecordBytes else {
      throw tooLong("the record", value.count, "maxRecordBytes", limits.maxRecordBytes)
    }
    mayLackValues = Self.mayLackValues(value)
    defer { if value.count > 1 << 20 { indexer.trim() } }
    do throws(JSONFault) {
      _ = try indexer.validatedWithPairedSurrogates(value)
    } catch {
      let isText = error.reason != .invalidUTF8
      throw isText ? RecordDecoder.notJSON(error, value) : RecordDecoder.notUTF8("value", value)
    }
    guard row.character(0) == UInt8(ascii: "{") else {
      throw Rejection(.invalidField, "the value is not an object, found \(value.valueForMessage())")
    }
    return switch source.format {
    case .json: try change(from: try place(nil), to: 0)
    case .debezium: try mapEvent(start(of: row), isRekeyed)
    }
  }

  private var row: JSONText { indexer.text }

  private func tooLong(_ what: String, _ count: Int, _ limit: String, _ most: Int) -> Rejection {
    Rejection(.limitExceeded, "\(what) has \(count) bytes, more than limits.\(limit) (\(most))")
  }

  // MARK: Rows

  /// A null says that the row is gone. If the key does not say where it was, the event before has said so.
  private func mapNull(_ isRekeyed: () -> Bool) throws(Rejection) -> Outcome {
    guard isKeyed else { return .skipped }
    try checkKey(isRekeyed)
    delete(try place(nil))
    return .deleted
  }

  /// Writes what a row has become.
  ///
  /// - Parameter former: where the row may have been; nil if nowhere.
  private func change(from former: Place?, to row: Int) throws(Rejection) -> Outcome {
    guard try passes(row) else {
      if let former { delete(former) }
      return .filtered
    }
    do throws(Rejection) {
      let place = if isKeyed, let former { former } else { try place(row) }
      let section = try text(of: section, row)
      let kind = try kind.map { (kind) throws(Rejection) in try text(of: kind, row, mayBeEmpty: true) }
      upsert(place, section, kind, try data(of: row), after: former)
      return .upserted
    } catch {
      if let former, !isPartial { delete(former) }
      throw error
    }
  }

  /// Whether the row has the members that the source wants.
  private func passes(_ start: Int) throws(Rejection) -> Bool {
    for condition in source.conditions {
      guard let field = condition.pointer.find(in: row, from: start),
        row.character(field.first) != UInt8(ascii: "n")
      else {
        if condition.values.contains(.null) { continue }
        return false
      }
      try checkAvailable(field, start)
      let bytes = row.span(from: field.first, to: field.end)
      let isWanted = condition.values.contains { wanted in
        guard case .string(let text) = wanted else {
          return bytes.buffer.elementsEqual((wanted.text ?? "").utf8)
        }
        return bytes[0] == UInt8(ascii: "\"")
          && row.string(field.first, arena: arena).buffer.elementsEqual(text.utf8)
      }
      if !isWanted { return false }
    }
    return true
  }

  /// - Parameter row: nil if the key alone decides.
  private func place(_ row: Int?) throws(Rejection) -> Place {
    (try text(of: feed, row), try text(of: item, row))
  }

  private func data(of start: Int) throws(Rejection) -> ByteSpan {
    let data: ByteSpan
    if source.members == nil {
      guard let field = source.data.find(in: row, from: start) else {
        throw Rejection(.unmappable, "the row has nothing at the pointer of 'data'")
      }
      try checkAvailable(field, start)
      try checkDepth(field, inside: Self.eventDepth)
      data = row.span(from: field.first, to: field.end)
    } else {
      members.removeAll(keepCapacity: 1 << 20)
      for (name, pointer) in memberNames {
        guard let field = pointer.find(in: row, from: start) else { continue }
        try checkAvailable(field, start)
        try checkDepth(field, inside: Self.eventDepth + 1)
        members.append(members.count == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
        members.append(string: name)
        members.append(UInt8(ascii: ":"))
        members.append(row.span(from: field.first, to: field.end))
      }
      members.append(members.count == 0 ? "{}" : "}")
      data = members.written
    }
    guard data.count <= limits.maxDataBytes else {
      throw tooLong("'data'", data.count, "maxDataBytes", limits.maxDataBytes)
    }
    return data
  }

  /// An event in an array of events.
  private static let eventDepth = 2

  /// The store would reject what is nested deeper, and keep the row as it was.
  private func checkDepth(_ field: JSONText.Field, inside depth: Int) throws(Rejection) {
    guard row.depth + depth > limits.maxDepth else { return }
    let depth = depth + row.depth(from: field.first, to: field.end)
    guard depth > limits.maxDepth else { return }
    let problem =
      "'data' is nested \(depth) deep in its record, more than limits.maxDepth (\(limits.maxDepth))"
    throw Rejection(.limitExceeded, problem)
  }

  // MARK: Events

  private func delete(_ place: Place) {
    let start = output.count
    appendDeletion(of: place.item)
    outputs.append((place.feed, start..<output.count))
  }

  private func upsert(
    _ place: Place,
    _ section: ByteSpan,
    _ kind: ByteSpan?,
    _ data: ByteSpan,
    after former: Place?
  ) {
    let isElsewhere = former.map { !$0.feed.hasSameBytes(as: place.feed) } ?? false
    if let former, isElsewhere { delete(former) }
    let replaced = former.flatMap { isElsewhere || $0.item.hasSameBytes(as: place.item) ? nil : $0.item }
    let isNew =
      !source.settings.isEmpty && sections.insert(source: number, feed: place.feed, section: section)
    let start = output.count
    if replaced != nil || isNew { output.append("[") }
    if let replaced {
      appendDeletion(of: replaced)
      output.append(",")
    }
    if isNew {
      append("{\"op\":\"section.upsert\",\"section\":", section)
      output.append(string: source.settings)
      output.append("},")
    }
    append("{\"op\":\"item.upsert\",\"item\":", place.item)
    append(",\"section\":", section)
    if let kind { append(",\"kind\":", kind) }
    output.append(",\"data\":")
    output.append(data)
    output.append(replaced != nil || isNew ? "}]" : "}")
    outputs.append((place.feed, start..<output.count))
  }

  private func append(_ name: StaticString, _ id: ByteSpan) {
    output.append(name)
    output.append(quoted: id)
  }

  private func appendDeletion(of item: ByteSpan) {
    append("{\"op\":\"item.delete\",\"item\":", item)
    output.append("}")
  }

  // MARK: Templates

  /// A template whose literals are at fixed addresses, and whose parts are looked at without counting references.
  private final class Template {
    let text: String
    /// The member of the source that has it.
    let name: StaticString
    /// Literals, and for a place the index of it.
    let parts: [(literal: ByteSpan?, place: Int)]
    let places: [IngestTemplate.Part]
    private let literals: [OwnedSpan?]

    init(_ template: IngestTemplate, _ name: StaticString) {
      text = template.text
      self.name = name
      places = template.parts
      literals = places.map { part in
        guard case .literal(let bytes) = part else { return nil }
        return bytes.withUnsafeBytes { OwnedSpan(ByteSpan($0)) }
      }
      parts = literals.enumerated().map { ($1?.span, $0) }
    }
  }

  private func text(
    of template: Template,
    _ row: Int?,
    mayBeEmpty: Bool = false
  ) throws(Rejection) -> ByteSpan {
    parts.removeAll(keepingCapacity: true)
    var count = 0
    for (literal, place) in template.parts {
      guard let span = if let literal { literal } else { try span(of: template.places[place], row) } else {
        let problem = "\(template.places[place].text) is no string, number, true or false in this record"
        throw Rejection(.unmappable, "'\(template.name)' is \"\(template.text)\", and \(problem)")
      }
      parts.append(span)
      count += span.count
    }
    guard count > 0 || mayBeEmpty else {
      throw Rejection(
        .unmappable,
        "'\(template.name)' is \"\(template.text)\", which is empty for this record"
      )
    }
    guard count <= limits.maxIdBytes else {
      throw tooLong("'\(template.name)'", count, "maxIdBytes", limits.maxIdBytes)
    }
    if parts.count == 1 { return parts[0] }
    let copy = arena.allocate(count)
    _ = parts.reduce(copy) { at, part in
      at.update(from: part.base, count: part.count)
      return at + part.count
    }
    return ByteSpan(UnsafePointer(copy), count)
  }

  /// The text of a place; nil if it has none.
  private func span(of part: IngestTemplate.Part, _ row: Int?) throws(Rejection) -> ByteSpan? {
    if case .row(let pointer) = part {
      guard let row, let field = pointer.find(in: self.row, from: row) else { return nil }
      try checkAvailable(field, row)
      return scalar(field, self.row)
    }
    guard let keyBytes, !keyBytes.isEmpty else {
      throw Rejection(.missingKey, "the record has no key, and the mapping uses it")
    }
    let text = keyIndexer.text
    if case .keyMember(let pointer) = part {
      return key.flatMap { pointer.find(in: text, from: $0) }.flatMap { scalar($0, text) }
    }
    // A JSON string stands for its text, everything else for itself.
    guard let key else {
      guard JSONIndexer.isUTF8(keyBytes) else { throw RecordDecoder.notUTF8("key", keyBytes) }
      return keyBytes
    }
    if text.character(key) == UInt8(ascii: "\"") { return text.string(key, arena: arena) }
    return text.span(from: key, to: text.tokenAfterValue(key))
  }

  /// The text of a string, or a number or boolean as it is spelled; nil for everything else.
  private func scalar(_ field: JSONText.Field, _ text: JSONText) -> ByteSpan? {
    switch text.character(field.first) {
    case UInt8(ascii: "\""): return text.string(field.first, arena: arena)
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"): return nil
    default: return text.span(from: field.first, to: field.end)
    }
  }
}

/// Change events of Debezium.
extension RowMapper {
  /// The header of the deletion of a row whose primary key has changed: the row is there under another key.
  package static let rekeyedHeader = "__debezium.newkey"

  /// Debezium's placeholders for a large value that an update did not change: text, bytes in Base64 and hexadecimal, a map, an array.
  private static let placeholders: [StaticString] = [
    "__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
    "5f5f646562657a69756d5f756e617661696c61626c655f76616c7565",
    "{\"__debezium_unavailable_value\":\"__debezium_unavailable_value\"}",
    "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]",
  ]
  /// Whether a record may have a placeholder: every spelling has one of these bytes or texts.
  private static func mayLackValues(_ record: ByteSpan) -> Bool {
    guard let start = record.rawBuffer.baseAddress else { return false }
    func has(_ text: StaticString) -> Bool {
      memmem(start, record.count, text.utf8Start, text.utf8CodeUnitCount) != nil
    }
    func has(_ byte: UInt8) -> Bool { memchr(start, Int32(byte), record.count) != nil }
    return has(UInt8(ascii: "\\")) || has(UInt8(ascii: "[")) || has(UInt8(ascii: "X"))
      || has("unavailable_value") || has("5f5f646562657a69")
  }

  /// The lengths of their spellings, whose characters may be escaped.
  private static let placeholderBytes = 28...512

  private func isUnavailable(_ token: Int) -> Bool {
    let isString = row.character(token) == UInt8(ascii: "\"")
    guard isString || row.character(token) == UInt8(ascii: "[") else { return false }
    var span = row.span(from: token, to: row.tokenAfterValue(token))
    guard Self.placeholderBytes.contains(span.count) else { return false }
    if isString { span = row.string(token, arena: arena) }
    return Self.placeholders.contains { span.matches($0) }
  }

  /// Refuses a value that the event does not have.
  ///
  /// - Parameter start: the row.
  private func checkAvailable(_ field: JSONText.Field, _ start: Int) throws(Rejection) {
    guard mayLackValues, let token = (field.first..<field.end).first(where: isUnavailable) else { return }
    var column = ""
    row.forEachMember(of: start, arena: arena) { name, member in
      if (member.first..<member.end).contains(token) { column = name.quotedForMessage() }
    }
    isPartial = true
    throw Rejection(
      .unmappable,
      """
      the change event does not have the value of the column \(column), which the update left as it was, and the mapping needs it; have \
      the database log it (PostgreSQL: REPLICA IDENTITY FULL), or leave the column out of the mapping; the item stays as it was
      """
    )
  }

  /// Refuses to delete a row that another event inserts with another key, maybe at the same place, maybe before.
  private func checkKey(_ isRekeyed: () -> Bool) throws(Rejection) {
    let parts = source.feed.parts + source.item.parts
    guard source.format == .debezium, !parts.contains(.key), isRekeyed() else { return }
    let columns = parts.compactMap { part in
      switch part {
      case .row(let pointer), .keyMember(let pointer): pointer.column
      default: nil
      }
    }
    var missing = "\"key\""
    if let key, keyIndexer.text.character(key) == UInt8(ascii: "{") {
      missing = ""
      keyIndexer.text.forEachMember(of: key, arena: arena) { name, _ in
        if !columns.contains(JSONPointer(members: [name.text])) { missing = name.quotedForMessage() }
      }
    }
    if missing.isEmpty { return }
    throw Rejection(
      .unmappable,
      """
      the row's primary key has changed (\(Self.rekeyedHeader)), and feed and item are without its column \(missing): the row may have its \
      item under the new key, so it stays; delete it if feed or item have changed too (item.delete), and use all columns of the key there
      """
    )
  }

  private enum Member {
    static let schema = JSONPointer(members: ["schema"])
    static let payload = JSONPointer(members: ["payload"])
    static let operation = JSONPointer(members: ["op"])
    static let before = JSONPointer(members: ["before"])
    static let after = JSONPointer(members: ["after"])
    static let status = JSONPointer(members: ["status"])
    static let time = JSONPointer(members: ["ts_ms"])
  }

  /// Where a value or a key starts: in an envelope with a schema, what is in it.
  private func start(of text: JSONText) -> Int {
    guard source.format == .debezium, Member.schema.find(in: text, from: 0) != nil else { return 0 }
    return Member.payload.find(in: text, from: 0)?.first ?? 0
  }

  private func mapEvent(_ event: Int, _ isRekeyed: () -> Bool) throws(Rejection) -> Outcome {
    func member(_ pointer: JSONPointer) -> Int? { pointer.find(in: row, from: event)?.first }
    func object(_ pointer: JSONPointer) -> Int? {
      member(pointer).flatMap { row.character($0) == UInt8(ascii: "{") ? $0 : nil }
    }
    if row.character(event) == UInt8(ascii: "n") { return try mapNull(isRekeyed) }
    guard let operation = member(Member.operation) else {
      if isOfOthers(event) { return .skipped }
      throw Rejection(
        .missingField,
        "the value is no change event: it has no 'op'; if it is the row itself, the format is json"
      )
    }
    let name = row.span(from: operation, to: operation + 1)
    let before = object(Member.before)
    // A letter in quotes.
    switch name.count == 3 ? name[1] : 0 {
    case UInt8(ascii: "c"), UInt8(ascii: "r"), UInt8(ascii: "u"):
      guard let after = object(Member.after) else {
        throw Rejection(.missingField, "the change event has no object 'after'")
      }
      return try change(from: name[1] == UInt8(ascii: "c") ? nil : try former(before, name[1]), to: after)
    case UInt8(ascii: "d"):
      guard let former = try former(before, name[1]) else { return .filtered }
      try checkKey(isRekeyed)
      delete(former)
      return .deleted
    case UInt8(ascii: "m"): return .skipped
    case UInt8(ascii: "t"):
      throw Rejection(
        .unmappable,
        """
        the table was truncated, and which rows it had is not known here; delete the feeds or the sections that the source \
        fills (feed.delete, or section.replace without items)
        """
      )
    default: throw Rejection(.unknownOp, "'op' is \(name.valueForMessage()); expected c, u, d, r, t or m")
    }
  }

  /// Whether it is the metadata of a transaction, which begins or ends, or a heartbeat, which has nothing but the time.
  private func isOfOthers(_ event: Int) -> Bool {
    if let status = Member.status.find(in: row, from: event) {
      let text = row.span(from: status.first, to: status.end)
      return text.matches("\"BEGIN\"") || text.matches("\"END\"")
    }
    guard let time = Member.time.find(in: row, from: event) else { return false }
    return time.first == event + 3 && row.character(time.end) == UInt8(ascii: "}")
  }

  private func known(_ before: Int?) throws(Rejection) -> Int {
    if let before, columns.allSatisfy({ $0.find(in: row, from: before) != nil }) { return before }
    throw Rejection(
      .unmappable,
      """
      the change event has no 'before', or not all of the row there, and the mapping of feed or item needs it; have the database \
      log it (PostgreSQL: REPLICA IDENTITY FULL; MySQL: binlog_row_image=FULL), or use only {key} there
      """
    )
  }

  /// Where a row was before; nil if it was nowhere: it did not pass, or could not be mapped. A snapshot does not tell.
  private func former(_ before: Int?, _ operation: UInt8) throws(Rejection) -> Place? {
    if isKeyed { return try place(nil) }
    guard operation != UInt8(ascii: "r") else { return nil }
    let row = try known(before)
    guard try passes(row) else { return nil }
    do throws(Rejection) { return try place(row) } catch { if isPartial { throw error } else { return nil } }
  }
}

/// The sections whose settings this process has sent. With too many it forgets them; to send them again changes nothing.
package final class SentSections {
  private let capacity: Int
  private var sent: [BytesKey: OwnedSpan] = [:]
  private let key = ByteWriter(capacity: 1024)
  private var nextForget: Int64 = 0

  private static let forgetMilliseconds: Int64 = 60_000

  /// - Parameter capacity: how many it remembers, at some 100 bytes each.
  package init(capacity: Int = 65_536) { self.capacity = capacity }

  /// Notes a section.
  ///
  /// - Parameters:
  ///   - source: the number of the source, as each has settings of its own.
  ///   - feed, section: at most 255 bytes each.
  /// - Returns: whether it was not known.
  func insert(source: Int, feed: ByteSpan, section: ByteSpan) -> Bool {
    key.removeAll()
    key.append(decimal: source)
    key.append(UInt8(ascii: "/"))
    key.append(UInt8(truncatingIfNeeded: feed.count))
    key.append(feed)
    key.append(section)
    if sent[BytesKey(key.written)] != nil { return false }
    if sent.count == capacity { removeAll() }
    let copy = OwnedSpan(key.written)
    sent[BytesKey(copy.span)] = copy
    return true
  }

  /// Forgets all once a minute, as others may have deleted sections since.
  ///
  /// - Parameter now: milliseconds of a clock.
  package func forget(at now: Int64) {
    guard now >= nextForget else { return }
    nextForget = now + Self.forgetMilliseconds
    removeAll()
  }

  /// Forgets all, as what was sent is not known to be written.
  package func removeAll() { sent = [:] }
}

/// Maps the rows of a batch, and hands out the records of feeds that they become.
package final class MappedRows: InputBatch, @unchecked Sendable {
  private let rows: any InputBatch
  private let mappers: [[UInt8]: RowMapper]
  private let items: [UInt8]
  private let tell: (InputRecord, RowMapper.Outcome?) throws -> Void
  private let headers: () -> [ByteSpan?]
  /// That of the latest topic, and whether it has mapped a row whose records are handed out.
  @exclusivity(unchecked) private var mapper: RowMapper?
  @exclusivity(unchecked) private var topic: [UInt8] = []
  @exclusivity(unchecked) private var isMapped = false
  @exclusivity(unchecked) private var timestamp: Int64 = 0
  /// The number of the next record of that row, and its offset.
  @exclusivity(unchecked) private var next = 0
  @exclusivity(unchecked) private var offset: Int64 = 0

  /// - Parameters:
  ///   - rows: records of the sources' topics.
  ///   - headers: names and values of the current row's headers.
  ///   - tell: told what has become of each, nil if its topic is no source; its records follow.
  package init(
    _ rows: any InputBatch,
    _ ingest: IngestOptions,
    _ options: FeedStoreOptions,
    _ sections: SentSections,
    headers: @escaping () -> [ByteSpan?],
    tell: @escaping (InputRecord, RowMapper.Outcome?) throws -> Void
  ) {
    self.rows = rows
    self.tell = tell
    self.headers = headers
    items = Array(options.topics.items.utf8)
    let mappers = ingest.sources.enumerated().map { number, source in
      (Array(source.topic.utf8), RowMapper(source, number: number, options.limits, sections))
    }
    self.mappers = Dictionary(uniqueKeysWithValues: mappers)
  }

  package func current() throws -> InputRecord? {
    while !isMapped || next >= mapper?.recordCount ?? 0 {
      if isMapped { rows.advance() }
      isMapped = false
      guard let row = try rows.current() else { return nil }
      if row.position.topic != topic { (topic, mapper) = (row.position.topic, mappers[row.position.topic]) }
      let outcome = mapper?.map(key: row.key, value: row.valueBytes) { [headers] in
        headers().contains { $0?.text == RowMapper.rekeyedHeader }
      }
      (isMapped, next, timestamp) = (true, 0, row.position.timestamp)
      try tell(row, outcome)
    }
    guard let (feed, value) = mapper?.record(next) else { return nil }
    let position = RecordPosition(topic: items, offset: offset, timestamp: timestamp)
    return InputRecord(partition: 0, position: position, key: feed, value: .bytes(value))
  }

  package func advance() {
    next += 1
    offset += 1
  }
}
