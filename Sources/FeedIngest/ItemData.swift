import Feed
import FeedConfiguration

/// An item's data or a content, made of a row.
struct ItemData {
  let text: ByteSpan
  /// Why the row lacks a value, if it does: then the item keeps it, and `text` has the other members.
  var lack: Rejection?
  /// An object with a null for each of these members that is an object; only with `lack`.
  var removals = ByteSpan.empty
}

extension RowMapper {
  /// The depth of data in its record: an event is in an array of events.
  private var eventDepth: Int { isContent ? 0 : 2 }

  /// The references of a row's item, as an object in the arena; nil if items keep theirs.
  func references(of row: Row) throws(Rejection) -> ByteSpan? {
    guard let references else { return nil }
    members.removeAll(keepCapacity: 1 << 20)
    for (_, name, id) in references where try !lacksText(id, row) {
      begin(name.span, first: 0)
      members.append(quoted: try text(of: id, row))
    }
    members.append(members.count == 0 ? "{}" : "}")
    guard members.count <= References.mostBytes else {
      let problem = "'refs' has \(members.count) bytes, more than \(References.mostBytes)"
      throw Rejection(.limitExceeded, problem)
    }
    return arena.copy(members.written)
  }

  func data(of row: Row, with references: ByteSpan?) throws(Rejection) -> ItemData {
    let data = try selection(of: row)
    let isJoined = references?.matches("{}") == false
    let (part, share) = isContent ? (8, "an eighth of ") : isJoined ? (2, "half of ") : (1, "")
    guard data.text.count <= limits.maxDataBytes / part else {
      throw tooLong("'data'", data.text.count, "maxDataBytes", limits.maxDataBytes, share: share)
    }
    if isContent || isJoined, !data.text.isEmpty { try checkObject(data.text, of: row) }
    orderCheck.note(row, decimals, arena: arena)
    return data
  }

  /// Refuses data that cannot be a content, or cannot have members of the references.
  private func checkObject(_ data: ByteSpan, of row: Row) throws(Rejection) {
    guard data[0] == UInt8(ascii: "{") else {
      let what = isContent ? "a content" : "the data of an item with references"
      throw Rejection(.unmappable, "\(what) must be an object, and 'data' is \(data.valueForMessage())")
    }
    guard let references, memberNames == nil, let field = row.find(source.data.pointer),
      row.text.character(field.first) == UInt8(ascii: "{")
    else { return }
    try row.text.forEachMember(of: field.first, arena: arena) { (name, _) throws(Rejection) in
      guard references.contains(where: { $0.name.span.hasSameBytes(as: name) }) else { return }
      throw Rejection(
        .unmappable,
        "'refs' and the data both have \(name.quotedForMessage()); name the reference differently, or list the members in 'data'"
      )
    }
  }

  /// The data, spelled as in the row unless something in it is not to be written.
  private func selection(of row: Row) throws(Rejection) -> ItemData {
    let (text, root) = (row.text, source.data.pointer)
    members.removeAll(keepCapacity: 1 << 20)
    var lack: Rejection?
    var nested: [ByteSpan] = []
    if let memberNames {
      for (name, pointer) in memberNames {
        if let field = row.find(pointer) { try append(name.span, pointer, field, of: row, &lack, &nested) }
      }
      return object(lack, nested)
    }
    guard let field = row.find(root) else {
      throw Rejection(.unmappable, "the row has nothing at the pointer of 'data'")
    }
    let form = decimals(at: root)
    let lacking = mayHaveMarks ? unavailable.token(in: field, of: text, arena: arena) : nil
    let isMarked = isMarked && root.tokens.isEmpty
    if lacking == nil, case .none = form, !isMarked {
      try checkDepth(field, of: text, inside: eventDepth)
      return ItemData(text: text.span(of: field))
    }
    if lacking != field.first, text.character(field.first) == UInt8(ascii: "{"), form != .withScale {
      try text.forEachMember(of: field.first, arena: arena) { (name, value) throws(Rejection) in
        if isMarked, name.matches(Self.deletedMark) { return }
        let pointer = JSONPointer(tokens: root.tokens + [Array(name.buffer)])
        let quoted = text.span(from: value.first - 2, to: value.first - 1)
        try append(quoted, pointer, value, of: row, &lack, &nested)
      }
      return object(lack, nested)
    }
    guard let (text, field) = try findOrKeep(root, field, of: row, &lack) else {
      return ItemData(text: .empty, lack: lack)
    }
    try append(field, of: text, form, root, inside: eventDepth)
    return ItemData(text: members.written)
  }

  /// Appends a member to the data, unless the row lacks it.
  ///
  /// - Parameters:
  ///   - name: in quotes.
  ///   - nested: takes the names of objects.
  private func append(
    _ name: ByteSpan,
    _ pointer: JSONPointer,
    _ field: JSONText.Field,
    of row: Row,
    _ lack: inout Rejection?,
    _ nested: inout [ByteSpan]
  ) throws(Rejection) {
    guard let (text, field) = try findOrKeep(pointer, field, of: row, &lack) else { return }
    if mayHaveMarks, text.character(field.first) == UInt8(ascii: "{") { nested.append(name) }
    begin(name, first: 0)
    try append(field, of: text, decimals(at: pointer), pointer, inside: eventDepth + 1)
  }

  /// The object of the members that were appended.
  private func object(_ lack: Rejection?, _ nested: [ByteSpan]) -> ItemData {
    members.append(members.count == 0 ? "{}" : "}")
    let end = members.count
    for name in nested where lack != nil {
      begin(name, first: end)
      members.append("null")
    }
    if members.count > end { members.append("}") }
    return ItemData(text: members.span(0..<end), lack: lack, removals: members.span(end..<members.count))
  }

  /// Begins a member of the object that begins at `first`.
  private func begin(_ name: ByteSpan, first: Int) {
    members.append(members.count == first ? UInt8(ascii: "{") : UInt8(ascii: ","))
    members.append(name)
    members.append(UInt8(ascii: ":"))
  }

  /// A value of the data; nil if the row lacks it, so that the item keeps what it has.
  ///
  /// - Parameter lack: why.
  private func findOrKeep(
    _ pointer: JSONPointer,
    _ field: JSONText.Field,
    of row: Row,
    _ lack: inout Rejection?
  ) throws(Rejection) -> (JSONText, JSONText.Field)? {
    guard mayHaveMarks else { return (row.text, field) }
    do throws(Rejection) {
      return try find(pointer, in: row)
    } catch {
      // The order decides about the item's place.
      if orderCheck.uses(pointer) { throw error }
      (lack, isPartial) = (lack ?? error, false)
      return nil
    }
  }

  /// Writes a value, with its decimals as numbers.
  private func append(
    _ field: JSONText.Field,
    of text: JSONText,
    _ form: Decimals,
    _ pointer: JSONPointer,
    inside depth: Int
  ) throws(Rejection) {
    if case .none = form {
      try checkDepth(field, of: text, inside: depth)
      return members.append(text.span(of: field))
    }
    if let number = try number(field.first, text, form, pointer) { return members.append(number) }
    let opening = text.character(field.first)
    var separator = opening
    func begin() {
      members.append(separator)
      separator = UInt8(ascii: ",")
    }
    switch opening {
    case UInt8(ascii: "{"):
      try text.forEachMember(of: field.first, arena: arena) { (name, value) throws(Rejection) in
        begin()
        members.append(text.span(from: value.first - 2, to: value.first - 1))
        members.append(UInt8(ascii: ":"))
        try append(value, of: text, form[name], pointer, inside: depth + 1)
      }
    case UInt8(ascii: "["):
      let each: Decimals = if case .elements(let each) = form { each } else { .none }
      try text.forEachElement(of: field.first) { (element) throws(Rejection) in
        begin()
        try append(element, of: text, each, pointer, inside: depth + 1)
      }
    default: return members.append(text.span(of: field))
    }
    if separator == opening { members.append(opening) }
    members.append(opening + 2)
  }

  /// The store would reject what is nested deeper, and keep the row as it was.
  private func checkDepth(_ field: JSONText.Field, of text: JSONText, inside depth: Int) throws(Rejection) {
    guard text.depth + depth > limits.maxDepth else { return }
    let depth = depth + text.depth(from: field.first, to: field.end)
    guard depth > limits.maxDepth else { return }
    let problem =
      "'data' is nested \(depth) deep in its record, more than limits.maxDepth (\(limits.maxDepth))"
    throw Rejection(.limitExceeded, problem)
  }
}
