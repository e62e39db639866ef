import Feed
import FeedConfiguration

/// Change events of Debezium.
extension RowMapper {
  /// The header of the deletion of a row whose primary key has changed: the row is there under another key.
  package static let rekeyedHeader = "__debezium.newkey"

  /// Refuses to delete a row that another event inserts with another key, maybe at the same place, maybe before.
  func checkKey(_ isRekeyed: () -> Bool) throws(Rejection) {
    let parts = source.ids.flatMap(\.template.parts)
    guard source.format.isEvent, !parts.contains(.key(JSONPointer(tokens: []))), isRekeyed() else { return }
    let columns = parts.compactMap { part in
      switch part {
      case .row(let pointer), .key(let pointer): pointer.column
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
    let (ids, deletion) =
      isContent ? ("'content' is", "a null record") : ("feed and item are", "item.delete")
    throw Rejection(
      .unmappable,
      """
      the row's primary key has changed (\(Self.rekeyedHeader)), and \(ids) without its column \(missing): the row may be there with the \
      new key, so it stays; delete it if an id has changed too (\(deletion)), and use all columns of the key in the ids
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
    static let tableChanges = JSONPointer(members: ["tableChanges"])
  }

  /// The parts of a value or a key with a schema; without one, the payload is all of it.
  func content(of text: JSONText) -> (schema: JSONText.Field?, payload: Int) {
    // A plain row may have columns of these names, and others.
    guard text.character(0) == UInt8(ascii: "{"), text.character(1) == UInt8(ascii: "\"") else {
      return (nil, 0)
    }
    let initial = text.span(from: 1, to: 2)[1]
    guard initial == UInt8(ascii: "s") || initial == UInt8(ascii: "p") else { return (nil, 0) }
    let second = text.tokenAfterValue(3) + 1
    guard text.character(second - 1) == UInt8(ascii: ","),
      text.character(text.tokenAfterValue(second + 2)) == UInt8(ascii: "}"),
      let schema = Member.schema.find(in: text, from: 0), let payload = Member.payload.find(in: text, from: 0)
    else { return (nil, 0) }
    let first = text.character(schema.first)
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "n") ? (schema, payload.first) : (nil, 0)
  }

  func readSchema(_ field: JSONText.Field, of text: JSONText) {
    let bytes = text.span(of: field)
    if schema?.bytes.span.hasSameBytes(as: bytes) != true {
      var decimals = Decimals(field.first, of: text, arena: arena)
      if source.format.isEvent { decimals = decimals.at(Member.after) }
      decimals.add(source.decimals)
      schema = (OwnedSpan(bytes), decimals)
    }
    decimals = schema?.decimals ?? mappedDecimals
  }

  func mapEvent(_ event: Row, _ isRekeyed: () -> Bool) throws(Rejection) -> Outcome {
    let text = event.text
    guard let operation = event.find(Member.operation)?.first else {
      if isOfOthers(event) { return .skipped }
      throw Rejection(
        .missingField,
        "the value is not a change event: it has no 'op'; if it is the row itself, the format is json"
      )
    }
    let name = text.span(from: operation, to: operation + 1)
    // A letter in quotes.
    let letter = name.count == 3 ? name[1] : 0
    switch letter {
    case UInt8(ascii: "c"), UInt8(ascii: "r"), UInt8(ascii: "u"):
      guard let after = try row(Member.after, of: event, rowIndexer) else {
        throw Rejection(
          .missingField,
          """
          the change event has no object 'after'; MongoDB needs capture.mode=change_streams_update_full, or \
          …_with_pre_image
          """
        )
      }
      let before = try row(Member.before, of: event, formerIndexer)
      let former = letter == UInt8(ascii: "c") ? nil : try former(before, letter)
      fallback = before
      return try change(from: former, to: after)
    case UInt8(ascii: "d"):
      guard let former = try former(try row(Member.before, of: event, formerIndexer), letter) else {
        return .filtered
      }
      try checkKey(isRekeyed)
      delete(former)
      return .deleted
    case UInt8(ascii: "m"): return .skipped
    case UInt8(ascii: "t"):
      throw Rejection(
        .unmappable,
        """
        the table was truncated, and which rows it had is not known here; delete \
        \(isContent
          ? "the contents that the source makes (null records)"
          : "the feeds or the sections that the source fills (feed.delete, or section.replace without items)")
        """
      )
    default: throw Rejection(.unknownOp, "'op' is \(name.valueForMessage()); expected c, u, d, r, t or m")
    }
  }

  /// A row of an event: an object, or as in events of MongoDB, the text of one.
  private func row(
    _ pointer: JSONPointer,
    of event: Row,
    _ indexer: JSONIndexer
  ) throws(Rejection) -> Row? {
    guard let token = event.find(pointer)?.first else { return nil }
    switch event.text.character(token) {
    case UInt8(ascii: "{"): return Row(text: event.text, start: token)
    case UInt8(ascii: "\""):
      let bytes = event.text.string(token, arena: arena)
      do throws(JSONFault) {
        let text = try indexer.validatedWithPairedSurrogates(bytes)
        return bytes[0] == UInt8(ascii: "{") ? Row(text: text, start: 0) : nil
      } catch {
        throw RecordDecoder.notJSON(error, bytes)
      }
    default: return nil
    }
  }

  /// Whether it is the metadata of a transaction, which begins or ends, a heartbeat, which has nothing but the time, or a change of
  /// the tables themselves.
  private func isOfOthers(_ event: Row) -> Bool {
    if event.find(Member.tableChanges) != nil { return true }
    if let status = event.find(Member.status) {
      let text = event.text.span(of: status)
      return text.matches("\"BEGIN\"") || text.matches("\"END\"")
    }
    guard let time = event.find(Member.time) else { return false }
    return time.first == event.start + 3 && event.text.character(time.end) == UInt8(ascii: "}")
  }

  /// The row's place before the change; nil for a snapshot, or if the row was filtered or could not be mapped.
  private func former(_ before: Row?, _ operation: UInt8) throws(Rejection) -> ItemAddress? {
    if isKeyed { return try address(nil) }
    guard operation != UInt8(ascii: "r") else { return nil }
    guard let before, columns.allSatisfy({ before.find($0) != nil }) else {
      throw Rejection(
        .unmappable,
        """
        the change event has no 'before', or not all of the row there, and the mapping of \
        \(isContent ? "'content'" : "feed or item") needs it; have the database log it (PostgreSQL: REPLICA IDENTITY FULL; \
        MySQL: binlog_row_image=FULL), or use only {key} there
        """
      )
    }
    guard try passes(before) else { return nil }
    do throws(Rejection) { return try address(before) } catch {
      if isPartial { throw error } else { return nil }
    }
  }
}
