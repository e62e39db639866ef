package import Feed
package import FeedConfiguration
import FeedStore
import Settings

/// Maps the records of one source: a row to the upsert or the deletion of an item in a record of a feed, or to a record of the
/// contents topic (docs/ingest.md).
///
/// Pure: it knows the record, the mapping, and which sections were sent. Its results are valid until the next record, and as long
/// as the record's bytes.
package final class RowMapper {
  package let source: IngestSource
  private let number: Int
  let isKeyed: Bool
  let limits: Limits
  private let sections: SentSections
  private let (feed, section, item): (Template, Template, Template)
  private let kind: Template?
  /// Whether rows become contents. The feed and the item of an address are then the content's id.
  package let isContent: Bool
  let references: [(name: OwnedSpan, quoted: OwnedSpan, id: Template)]?
  private let settings: String
  let memberNames: [(quoted: OwnedSpan, pointer: JSONPointer)]?
  /// The members that say where a row is.
  let columns: [JSONPointer]
  let indexer = JSONIndexer()
  let keyIndexer = JSONIndexer()
  /// Of a row before and after, if they are texts.
  let (formerIndexer, rowIndexer) = (JSONIndexer(), JSONIndexer())
  let arena = ScratchArena()
  private let output = ByteWriter()
  /// The schemas of Avro, and the texts of the latest record's key and value; nil if records are JSON.
  private let schemas: SchemaRegistry?
  private let (keyText, valueText) = (ByteWriter(), ByteWriter())
  /// The data of an item, if it is not spelled as in the row.
  let members = ByteWriter()
  let unavailable: UnavailableValue
  @exclusivity(unchecked) var parts: [ByteSpan] = []
  @exclusivity(unchecked) private var outputs: [(key: ByteSpan, value: Range<Int>?)] = []
  @exclusivity(unchecked) private var events = 0
  /// How many records had each outcome, but for the most frequent one.
  @exclusivity(unchecked) private var counts: [String: Int] = [:]
  @exclusivity(unchecked) private var upserted = 0

  /// The latest record's key, and if it is JSON, the first token of its value.
  @exclusivity(unchecked) var keyBytes: ByteSpan?
  @exclusivity(unchecked) var key: Int?
  /// Whether the record may have a placeholder or a member of ExtractNewRecordState; most have not, and are not searched.
  @exclusivity(unchecked) private(set) var mayHaveMarks = false
  /// Whether the record does not have all of the row, so that the row's item stays as it is.
  @exclusivity(unchecked) var isPartial = false
  /// Whether the row has ``deletedMark``, which is not a part of the data.
  @exclusivity(unchecked) var isMarked = false
  /// The row before the change, which may have the values that the row after it lacks.
  @exclusivity(unchecked) var fallback: Row?
  /// The record's decimals; the mapping's decimals; and the latest schema with both.
  @exclusivity(unchecked) var decimals: Decimals { didSet { hasDecimals = decimals != .none } }
  @exclusivity(unchecked) private(set) var hasDecimals: Bool
  let mappedDecimals: Decimals
  @exclusivity(unchecked) var schema: (bytes: OwnedSpan, decimals: Decimals)?
  @exclusivity(unchecked) var orderCheck: OrderCheck

  typealias ItemAddress = (feed: ByteSpan, item: ByteSpan)

  /// The outcome of a record.
  package enum Outcome {
    case upserted, deleted
    /// The row does not pass `where`.
    case filtered
    /// The record is not a row: it is a heartbeat, for example, or a null after a deletion.
    case skipped
    /// The row becomes nothing: if it is known where it was, there is a record that deletes it there. But what the record does
    /// not say stays as it is.
    case rejected(Rejection)
    /// The registry of schemas does not answer; map the record again.
    case unavailable(String)

    /// A word for people; the code of a rejection.
    package var name: String {
      switch self {
      case .upserted: "upserted"
      case .deleted: "deleted"
      case .filtered: "filtered"
      case .skipped: "skipped"
      case .rejected(let rejection): rejection.code.rawValue
      case .unavailable: "unavailable"
      }
    }
  }

  /// - Parameters:
  ///   - number: the source's, in the list of sources.
  ///   - schemas: decode records of Avro; nil if those records have been decoded, as in replay files.
  package init(
    _ source: IngestSource,
    number: Int,
    _ limits: Limits,
    _ sections: SentSections,
    _ schemas: SchemaRegistry? = nil
  ) {
    self.schemas = source.format.isAvro ? schemas : nil
    self.source = source
    isKeyed = source.isKeyed
    self.number = number
    self.limits = limits
    self.sections = sections
    isContent = source.content != nil
    references = source.references?.sorted { $0.key < $1.key }.map {
      ($0.ownedSpan, JSONData(string: $0).description.ownedSpan, Template($1, "refs.\($0)"))
    }
    feed = Template(source.feed, isContent ? "content" : "feed")
    section = Template(source.section, "section")
    item = Template(source.item, "item")
    kind = source.kind.map { Template($0, "kind") }
    settings = source.settings
    memberNames = source.data.members?.map {
      (JSONData(string: $0).description.ownedSpan, JSONPointer(members: [$0]))
    }
    let pointers = source.ids.flatMap(\.template.parts).compactMap {
      if case .row(let it) = $0 { it } else { nil }
    }
    columns = (pointers + source.conditions.map(\.pointer)).map(\.column)
    unavailable = UnavailableValue(source.unavailableValue)
    mappedDecimals = Decimals(source.decimals)
    decimals = mappedDecimals
    hasDecimals = decimals != .none
    orderCheck = OrderCheck(source)
  }

  /// The records that the latest one becomes; two if the row goes from one feed, or one content, to another.
  package var recordCount: Int { outputs.count }

  /// A feed and its events, or a content's id and its value.
  package func record(_ index: Int) -> (key: ByteSpan, value: ByteSpan?) {
    (outputs[index].key, outputs[index].value.map { output.span($0) })
  }

  /// Hands out how many records had which outcome, and counts again from 0.
  package func takeCounts() -> [String: Int] {
    defer { (counts, upserted) = ([:], 0) }
    return upserted == 0 ? counts : counts.merging([Outcome.upserted.name: upserted]) { $1 }
  }

  /// Whether it seems that the items are sorted by decimals that are bytes in Base64; true once.
  package func takeOrderWarning() -> Bool { orderCheck.takeWarning() }

  /// Maps a record, which then is the latest.
  ///
  /// - Parameter isRekeyed: whether it has the header ``rekeyedHeader``; asked of deletions.
  package func map(key: ByteSpan?, value: ByteSpan?, isRekeyed: () -> Bool = { false }) -> Outcome {
    arena.reset()
    (isPartial, isMarked, fallback) = (false, false, nil)
    output.removeAll(keepCapacity: 1 << 20)
    outputs.removeAll(keepingCapacity: true)
    var outcome = Outcome.skipped
    do throws(SchemaRegistry.Fault) {
      outcome = map(try text(key, keyText, isKey: true), try text(value, valueText, isKey: false), isRekeyed)
    } catch {
      switch error {
      case .rejected(let rejection): outcome = .rejected(rejection)
      case .unavailable(let reason): return .unavailable(reason)
      }
    }
    if case .upserted = outcome { upserted += 1 } else { counts[outcome.name, default: 0] += 1 }
    return outcome
  }

  /// A key or a value as JSON. Keys without Avro's zero byte stay as they are.
  private func text(
    _ bytes: ByteSpan?,
    _ writer: ByteWriter,
    isKey: Bool
  ) throws(SchemaRegistry.Fault) -> ByteSpan? {
    guard let schemas, let bytes, !isKey || !bytes.isEmpty && bytes[0] == 0 else { return bytes }
    writer.removeAll(keepCapacity: 1 << 20)
    try schemas.write(bytes, to: writer, atMost: limits.maxRecordBytes, placeholder: unavailable.bytes)
    return writer.written
  }

  private func map(_ key: ByteSpan?, _ value: ByteSpan?, _ isRekeyed: () -> Bool) -> Outcome {
    do throws(Rejection) {
      keyBytes = key
      self.key = key.flatMap { try? keyIndexer.validatedWithPairedSurrogates($0) }.map {
        content(of: $0).payload
      }
      if let value { return try mapValue(value, isRekeyed) } else { return try mapNull(isRekeyed) }
    } catch {
      return .rejected(error)
    }
  }

  private func mapValue(_ value: ByteSpan, _ isRekeyed: () -> Bool) throws(Rejection) -> Outcome {
    guard value.count <= limits.maxRecordBytes else {
      throw tooLong("the record", value.count, "maxRecordBytes", limits.maxRecordBytes)
    }
    defer { if value.count > 1 << 20 { indexer.trim() } }
    do throws(JSONFault) {
      _ = try indexer.validatedWithPairedSurrogates(value)
    } catch {
      let isText = error.reason != .invalidUTF8
      throw isText ? RecordDecoder.notJSON(error, value) : RecordDecoder.notUTF8("value", value)
    }
    let text = indexer.text
    guard text.character(0) == UInt8(ascii: "{") else {
      throw Rejection(.invalidField, "the value is not an object, found \(value.valueForMessage())")
    }
    let (schema, payload) = content(of: text)
    if let schema {
      readSchema(schema, of: text)
    } else if self.schema != nil {
      decimals = mappedDecimals
    }
    mayHaveMarks = text.mayHave(unavailable.beginnings)
    let row = Row(text: text, start: payload)
    return switch text.character(payload) {
    case UInt8(ascii: "n"): try mapNull(isRekeyed)
    case UInt8(ascii: "{"): source.format.isEvent ? try mapEvent(row, isRekeyed) : try mapRow(row)
    default: throw Rejection(.invalidField, "the payload is not an object")
    }
  }

  /// The forms of the decimals in a value of the latest record.
  func decimals(at pointer: JSONPointer) -> Decimals { hasDecimals ? decimals.at(pointer) : .none }

  func tooLong(_ what: String, _ count: Int, _ limit: String, _ most: Int, share: String = "") -> Rejection {
    Rejection(.limitExceeded, "\(what) has \(count) bytes, more than \(share)limits.\(limit) (\(most))")
  }

  // MARK: Rows

  /// A null says that the row is gone. If the key does not say where it was, the event before has said so.
  private func mapNull(_ isRekeyed: () -> Bool) throws(Rejection) -> Outcome {
    guard isKeyed else { return .skipped }
    try checkKey(isRekeyed)
    delete(try address(nil))
    return .deleted
  }

  /// By this member, ExtractNewRecordState says whether a row is deleted, if it rewrites deletions.
  static let deletedMark: StaticString = "__deleted"

  /// A row without an envelope.
  private func mapRow(_ row: Row) throws(Rejection) -> Outcome {
    let address = try address(nil)
    var (isDeleted, isDeletion) = (false, false)
    if mayHaveMarks {
      row.text.forEachMember(of: row.start, arena: arena) { name, value in
        let value = row.text.span(of: value)
        if name.matches(Self.deletedMark) {
          isMarked = true
          isDeleted = value.matches("\"true\"") || value.matches("true")
        }
        if name.matches("__op") { isDeletion = value.matches("\"d\"") }
      }
    }
    guard isDeleted || isDeletion else { return try change(from: address, to: row) }
    delete(address)
    return .deleted
  }

  /// Writes what a row has become.
  ///
  /// - Parameter former: where the row may have been; nil if nowhere.
  func change(from former: ItemAddress?, to row: Row) throws(Rejection) -> Outcome {
    guard try passes(row) else {
      if let former { delete(former) }
      return .filtered
    }
    do throws(Rejection) {
      let address = if isKeyed, let former { former } else { try address(row) }
      let section = isContent ? address.feed : try text(of: section, row)
      let kind = try kind.map { (kind) throws(Rejection) in try text(of: kind, row, mayBeEmpty: true) }
      let references = try references(of: row)
      let data = try data(of: row, with: references)
      // Only an item that is there keeps what the row lacks.
      let stays = former.map {
        !isContent && $0.feed.hasSameBytes(as: address.feed) && $0.item.hasSameBytes(as: address.item)
      }
      if let lack = data.lack, stays != true {
        isPartial = true
        throw lack
      }
      let expires = try source.expires.map { (pointer) throws(Rejection) in try end(at: pointer, in: row) }
      upsert(address, section, kind, expires, references, data, after: former)
      return .upserted
    } catch {
      if let former, !isPartial { delete(former) }
      throw error
    }
  }

  /// Whether the row has the members that the source wants.
  func passes(_ row: Row) throws(Rejection) -> Bool {
    for condition in source.conditions {
      guard let (text, field) = try find(condition.pointer, in: row),
        text.character(field.first) != UInt8(ascii: "n")
      else {
        if condition.value.contains(.null) { continue }
        return false
      }
      let number = try number(field.first, text, decimals(at: condition.pointer), condition.pointer)
      let bytes = number ?? text.span(of: field)
      let isWanted = condition.value.contains { wanted in
        guard case .string(let wanted) = wanted else {
          return bytes.buffer.elementsEqual((wanted.text ?? "").utf8)
        }
        return bytes[0] == UInt8(ascii: "\"")
          && text.string(field.first, arena: arena).buffer.elementsEqual(wanted.utf8)
      }
      if !isWanted { return false }
    }
    return true
  }

  /// - Parameter row: nil if the key alone decides.
  func address(_ row: Row?) throws(Rejection) -> ItemAddress {
    let feed = try text(of: feed, row)
    return (feed, isContent ? feed : try text(of: item, row))
  }

  // MARK: Events

  func delete(_ address: ItemAddress) {
    if isContent { return outputs.append((address.feed, nil)) }
    let start = output.count
    begin(Self.deletion, address.item, start)
    end(start, address.feed)
  }

  private func upsert(
    _ address: ItemAddress,
    _ section: ByteSpan,
    _ kind: ByteSpan?,
    _ expires: ByteSpan?,
    _ references: ByteSpan?,
    _ data: ItemData,
    after former: ItemAddress?
  ) {
    let isElsewhere = former.map { !$0.feed.hasSameBytes(as: address.feed) } ?? false
    if let former, isElsewhere { delete(former) }
    let start = output.count
    if isContent {
      output.append(data.text)
      return outputs.append((address.feed, start..<output.count))
    }
    if let former, !isElsewhere, !former.item.hasSameBytes(as: address.item) {
      begin(Self.deletion, former.item, start)
    }
    if !settings.isEmpty, sections.insert(source: number, feed: address.feed, section: section) {
      begin("{\"op\":\"section.upsert\",\"section\":", section, start)
      output.append(string: settings)
    }
    begin("{\"op\":\"item.upsert\",\"item\":", address.item, start)
    append(",\"section\":", section)
    if let kind { append(",\"kind\":", kind) }
    if let expires {
      output.append(",\"expires\":")
      output.append(expires)
    }
    if let references {
      output.append(",\"refs\":")
      output.append(references)
    }
    // A patch merges objects; the former ones go first.
    let patches = data.lack == nil ? [] : [data.removals, data.text].filter { $0.count > 2 }
    if data.lack == nil { append(data: data.text) }
    for patch in patches {
      begin("{\"op\":\"item.patch\",\"item\":", address.item, start)
      append(data: patch)
    }
    end(start, address.feed)
  }

  /// The end of a row's item, as spelled in the row; `null` if there is none.
  private func end(at pointer: JSONPointer, in row: Row) throws(Rejection) -> ByteSpan {
    guard let (text, field) = try find(pointer, in: row), text.character(field.first) != UInt8(ascii: "n")
    else { return ByteSpan("null" as StaticString) }
    let value = text.span(of: field)
    if TimestampFormat.time(of: field, in: text, arena) != nil { return value }
    throw Rejection(
      .unmappable,
      "'expires' is \"{\(pointer.text)}\", which must be \(TimestampFormat.allowedEnd), found "
        + value.valueForMessage()
    )
  }

  private static let deletion: StaticString = "{\"op\":\"item.delete\",\"item\":"

  /// Begins an event of the record that begins at `start`, after the one before.
  private func begin(_ event: StaticString, _ id: ByteSpan, _ start: Int) {
    output.append(output.count == start ? "[" : "},")
    events += 1
    append(event, id)
  }

  /// Ends a record, which is an array if it has several events.
  private func end(_ start: Int, _ feed: ByteSpan) {
    output.append(events == 1 ? "}" : "}]")
    outputs.append((feed, (events == 1 ? start + 1 : start)..<output.count))
    events = 0
  }

  private func append(_ name: StaticString, _ id: ByteSpan) {
    output.append(name)
    output.append(quoted: id)
  }

  private func append(data: ByteSpan) {
    output.append(",\"data\":")
    output.append(data)
  }
}
