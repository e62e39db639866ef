package import Feed
package import FeedConfiguration

/// Maps the records of one source to records of feeds: a row to the upsert or the deletion of an item (docs/ingest.md).
///
/// Pure: it knows the record, the mapping, and which sections were sent. Its results are valid until the next record, and as long
/// as the record's bytes.
package final class RowMapper {
  package let source: IngestSource
  private let number: Int
  private let limits: Limits
  private let sections: SentSections
  private let indexer = JSONIndexer()
  private let arena = ScratchArena()
  private let key: RowKey
  private let output = ByteWriter()
  /// The data of an item that has some of the row's members.
  private let members = ByteWriter()
  private var parts: [ByteSpan] = []

  /// A record for the items topic.
  private struct Output {
    let feed: ByteSpan
    let value: Range<Int>
  }

  private var outputs: [Output] = []
  /// Whether the latest record says that its table was truncated.
  package private(set) var isTruncation = false

  /// What a record has become.
  package enum Outcome {
    case upserted, deleted
    /// The row does not pass `where`.
    case filtered
    /// It is no row: a heartbeat, for example, or a null after a deletion.
    case skipped
    /// The row is in no feed: if it is known where it was, there is a record that deletes it there.
    case rejected(Rejection)
  }

  /// An item, and the feed that it is in.
  private struct Place {
    let feed: ByteSpan
    let item: ByteSpan
  }

  /// - Parameter number: the source's, in the list of sources.
  package init(_ source: IngestSource, number: Int, _ limits: Limits, _ sections: SentSections) {
    self.source = source
    self.number = number
    self.limits = limits
    self.sections = sections
    key = RowKey(source.format, arena)
  }

  /// The records that the latest one becomes; two if the row goes from one feed to another.
  package var recordCount: Int { outputs.count }

  package func record(_ index: Int) -> (feed: ByteSpan, value: ByteSpan) {
    (outputs[index].feed, output.span(outputs[index].value))
  }

  /// Maps a record, which then is the latest.
  package func map(key: ByteSpan?, value: ByteSpan?) -> Outcome {
    arena.reset()
    output.removeAll(keepCapacity: 1 << 20)
    outputs.removeAll(keepingCapacity: true)
    isTruncation = false
    self.key.begin(key)
    defer { if let value, value.count > 1 << 20 { indexer.trim() } }
    do throws(Rejection) {
      guard let value else { return try mapTombstone() }
      let text = try parse(value, keyBytes: key?.count ?? 0)
      return switch source.format {
      case .json: try change(from: try place(nil), to: 0, in: text)
      case .debezium: try mapEvent(text)
      }
    } catch {
      return .rejected(error)
    }
  }

  private func parse(_ value: ByteSpan, keyBytes: Int) throws(Rejection) -> JSONText {
    guard value.count + keyBytes <= limits.maxRecordBytes else {
      throw Rejection(
        .limitExceeded,
        "the record has \(value.count + keyBytes) bytes, more than limits.maxRecordBytes (\(limits.maxRecordBytes))"
      )
    }
    let text: JSONText
    do throws(JSONFault) {
      text = try indexer.validatedWithPairedSurrogates(value)
    } catch {
      throw error.reason == .invalidUTF8
        ? RecordDecoder.notUTF8("value", value) : RecordDecoder.notJSON(error, value)
    }
    guard Self.isObject(0, text) else {
      throw Rejection(.invalidField, "the value is not an object, found \(value.valueForMessage())")
    }
    return text
  }

  private static func isObject(_ token: Int, _ text: JSONText) -> Bool {
    text.character(token) == UInt8(ascii: "{")
  }

  // MARK: Rows

  /// A null says that the row is gone. If the key does not say where it was, the event before has said so.
  private func mapTombstone() throws(Rejection) -> Outcome {
    guard source.isKeyed else { return .skipped }
    delete(try place(nil))
    return .deleted
  }

  /// Writes what a row has become.
  ///
  /// - Parameters:
  ///   - former: where the row may have been; nil if nowhere.
  ///   - row: its token.
  private func change(from former: Place?, to row: Int, in text: JSONText) throws(Rejection) -> Outcome {
    guard passes(row, text) else {
      if let former { delete(former) }
      return .filtered
    }
    do throws(Rejection) {
      let place = if source.isKeyed, let former { former } else { try place((text, row)) }
      let section = try self.text(of: source.section, "section", (text, row))
      let kind: ByteSpan? =
        if let kind = source.kind { try self.text(of: kind, "kind", (text, row), mayBeEmpty: true) } else {
          nil
        }
      upsert(place, section, kind, try data(of: row, in: text), after: former)
      return .upserted
    } catch {
      if let former { delete(former) }
      throw error
    }
  }

  /// Whether the row has the members that the source wants.
  private func passes(_ row: Int, _ text: JSONText) -> Bool {
    for condition in source.conditions {
      let field = condition.pointer.find(in: text, from: row)
      let isMatch = condition.values.contains { wanted in
        guard let field, text.character(field.first) != UInt8(ascii: "n") else { return wanted == .null }
        switch wanted {
        case .null: return false
        case .string(let bytes):
          return text.character(field.first) == UInt8(ascii: "\"")
            && text.string(field.first, arena: arena).buffer.elementsEqual(bytes)
        case .literal(let bytes):
          return text.span(from: field.first, to: field.end).buffer.elementsEqual(bytes)
        }
      }
      if !isMatch { return false }
    }
    return true
  }

  private func place(_ row: (text: JSONText, token: Int)?) throws(Rejection) -> Place {
    Place(feed: try text(of: source.feed, "feed", row), item: try text(of: source.item, "item", row))
  }

  private func data(of row: Int, in text: JSONText) throws(Rejection) -> ByteSpan {
    let data: ByteSpan
    switch source.content {
    case .pointer(let pointer, let name):
      guard let field = pointer.find(in: text, from: row) else {
        throw Rejection(.unmappable, "'data' is \"\(name)\", which the row does not have")
      }
      data = text.span(from: field.first, to: field.end)
    case .members(let names):
      members.removeAll(keepCapacity: 1 << 20)
      for (name, pointer) in names {
        guard let field = pointer.find(in: text, from: row) else { continue }
        members.append(members.count == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
        members.append(string: name)
        members.append(UInt8(ascii: ":"))
        members.append(text.span(from: field.first, to: field.end))
      }
      members.append(members.count == 0 ? "{}" : "}")
      data = members.written
    }
    guard data.count <= limits.maxDataBytes else {
      throw Rejection(
        .limitExceeded,
        "'data' has \(data.count) bytes, more than limits.maxDataBytes (\(limits.maxDataBytes))"
      )
    }
    return data
  }
}

/// Change events of Debezium.
extension RowMapper {
  private enum Pointers {
    static let schema = JSONPointer(members: ["schema"])
    static let payload = JSONPointer(members: ["payload"])
    static let operation = JSONPointer(members: ["op"])
    static let before = JSONPointer(members: ["before"])
    static let after = JSONPointer(members: ["after"])
    /// Transactions' metadata have one.
    static let status = JSONPointer(members: ["status"])
    /// Heartbeats have nothing else.
    static let time = JSONPointer(members: ["ts_ms"])
  }

  private func mapEvent(_ text: JSONText) throws(Rejection) -> Outcome {
    var event = 0
    if Pointers.schema.find(in: text, from: 0) != nil, let payload = Pointers.payload.find(in: text, from: 0)
    {
      event = payload.first
      if text.character(event) == UInt8(ascii: "n") { return try mapTombstone() }
    }
    guard Self.isObject(event, text), let operation = Pointers.operation.find(in: text, from: event) else {
      let isSkipped = [Pointers.status, Pointers.time].contains { $0.find(in: text, from: event) != nil }
      if isSkipped { return .skipped }
      throw Rejection(
        .missingField,
        "the value is no change event: it has no 'op'; if it is the row itself, the format is json"
      )
    }
    func row(_ pointer: JSONPointer) -> Int? {
      pointer.find(in: text, from: event).flatMap { Self.isObject($0.first, text) ? $0.first : nil }
    }
    let name = text.span(from: operation.first, to: operation.end)
    // A letter in quotes.
    switch name.count == 3 ? name[1] : 0 {
    case UInt8(ascii: "c"): return try change(from: nil, to: try after(row(Pointers.after)), in: text)
    case UInt8(ascii: "r"):
      return try change(
        from: source.isKeyed ? try place(nil) : nil,
        to: try after(row(Pointers.after)),
        in: text
      )
    case UInt8(ascii: "u"):
      let (before, after) = (row(Pointers.before), try after(row(Pointers.after)))
      return try change(from: try former(before, text), to: after, in: text)
    case UInt8(ascii: "d"):
      delete(source.isKeyed ? try place(nil) : try place((text, try before(row(Pointers.before)))))
      return .deleted
    case UInt8(ascii: "t"):
      isTruncation = true
      throw Rejection(
        .unmappable,
        """
        the table was truncated, and which rows it had is not known here; delete the feeds or the sections that the source \
        fills (feed.delete, or section.replace without items)
        """
      )
    case UInt8(ascii: "m"): return .skipped
    default: throw Rejection(.unknownOp, "'op' is \(name.valueForMessage()); expected c, u, d, r, t or m")
    }
  }

  private func after(_ row: Int?) throws(Rejection) -> Int {
    guard let row else { throw Rejection(.missingField, "the change event has no object 'after'") }
    return row
  }

  private func before(_ row: Int?) throws(Rejection) -> Int {
    guard let row else {
      throw Rejection(
        .unmappable,
        """
        the change event has no 'before', and the mapping of feed or item needs it; have the database log it (PostgreSQL: \
        REPLICA IDENTITY FULL; MySQL: binlog_row_image=FULL), or use only {key} there
        """
      )
    }
    return row
  }

  /// Where a row was before an update; nil if it was nowhere: it did not pass, or could not be mapped.
  private func former(_ row: Int?, _ text: JSONText) throws(Rejection) -> Place? {
    if source.isKeyed { return try place(nil) }
    let row = try before(row)
    return passes(row, text) ? try? place((text, row)) : nil
  }
}

/// Templates.
extension RowMapper {
  private func text(
    of template: IngestTemplate,
    _ member: StaticString,
    _ row: (text: JSONText, token: Int)?,
    mayBeEmpty: Bool = false
  ) throws(Rejection) -> ByteSpan {
    parts.removeAll(keepingCapacity: true)
    var count = 0
    for (index, part) in template.parts.enumerated() {
      let span = try self.span(of: part, row)
      guard let span else { throw Self.fault(template, index, member) }
      parts.append(span)
      count += span.count
    }
    guard count > 0 || mayBeEmpty else {
      throw Rejection(.unmappable, "'\(member)' is \"\(template.text)\", which is empty for this record")
    }
    guard count <= limits.maxIdBytes else {
      throw Rejection(
        .limitExceeded,
        "'\(member)' is \"\(template.text)\", which has \(count) bytes for this record, more than limits.maxIdBytes (\(limits.maxIdBytes))"
      )
    }
    if parts.count == 1 { return parts[0] }
    let copy = arena.allocate(count)
    var at = 0
    for part in parts {
      (copy + at).update(from: part.base, count: part.count)
      at += part.count
    }
    return ByteSpan(UnsafePointer(copy), count)
  }

  private static func fault(_ template: IngestTemplate, _ index: Int, _ member: StaticString) -> Rejection {
    Rejection(
      .unmappable,
      "'\(member)' is \"\(template.text)\", and {\(template.names[index])} is no string, number, true or false in this record"
    )
  }

  /// The text of a part; nil if it has none.
  private func span(
    of part: IngestTemplate.Part,
    _ row: (text: JSONText, token: Int)?
  ) throws(Rejection) -> ByteSpan? {
    switch part {
    case .literal(let bytes): return literal(bytes)
    case .key: return try key.whole()
    case .keyMember(let pointer): return try key.find(pointer).flatMap { scalar($0.field, $0.text) }
    case .row(let pointer):
      guard let row else { return nil }
      return pointer.find(in: row.text, from: row.token).flatMap { scalar($0, row.text) }
    }
  }

  private func literal(_ bytes: [UInt8]) -> ByteSpan {
    let copy = arena.allocate(bytes.count)
    bytes.withUnsafeBufferPointer { copy.update(from: $0.baseAddress!, count: $0.count) }
    return ByteSpan(UnsafePointer(copy), bytes.count)
  }

  /// The text of a string, or a number or boolean as it is spelled; nil for everything else.
  private func scalar(_ field: JSONText.Field, _ text: JSONText) -> ByteSpan? {
    switch text.character(field.first) {
    case UInt8(ascii: "\""): text.string(field.first, arena: arena)
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"): nil
    default: text.span(from: field.first, to: field.end)
    }
  }
}

/// Events.
extension RowMapper {
  private func delete(_ place: Place) {
    let start = output.count
    appendDeletion(of: place.item)
    outputs.append(Output(feed: place.feed, value: start..<output.count))
  }

  private func upsert(
    _ place: Place,
    _ section: ByteSpan,
    _ kind: ByteSpan?,
    _ data: ByteSpan,
    after former: Place?
  ) {
    var replaced: Place?
    if let former {
      if !former.feed.hasSameBytes(as: place.feed) {
        delete(former)
      } else if !former.item.hasSameBytes(as: place.item) {
        replaced = former
      }
    }
    let isNew = source.hasSettings && sections.insert(source: number, feed: place.feed, section: section)
    let start = output.count
    if replaced != nil || isNew { output.append("[") }
    if let replaced {
      appendDeletion(of: replaced.item)
      output.append(",")
    }
    if isNew {
      appendSettings(of: section)
      output.append(",")
    }
    output.append("{\"op\":\"item.upsert\",\"item\":")
    output.append(quoted: place.item)
    output.append(",\"section\":")
    output.append(quoted: section)
    if let kind {
      output.append(",\"kind\":")
      output.append(quoted: kind)
    }
    output.append(",\"data\":")
    output.append(data)
    output.append("}")
    if replaced != nil || isNew { output.append("]") }
    outputs.append(Output(feed: place.feed, value: start..<output.count))
  }

  private func appendDeletion(of item: ByteSpan) {
    output.append("{\"op\":\"item.delete\",\"item\":")
    output.append(quoted: item)
    output.append("}")
  }

  private func appendSettings(of section: ByteSpan) {
    output.append("{\"op\":\"section.upsert\",\"section\":")
    output.append(quoted: section)
    if let order = source.order {
      output.append(",\"order\":")
      output.append(string: order)
    }
    if let keep = source.keep {
      output.append(",\"keep\":")
      output.append(decimal: keep)
    }
    output.append("}")
  }
}
