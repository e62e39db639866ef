import Feed
import FeedConfiguration
import FeedStore

/// An item's data, made of a row.
struct ItemData {
  let text: ByteSpan
  /// Why the row lacks a value, if it does: then the item keeps it, and `text` has the other members.
  var lack: Rejection?
  /// An object with a null for each of these members that is an object; only with `lack`.
  var removals = ByteSpan.empty
}

extension RowMapper {
  /// An event in an array of events.
  private static let eventDepth = 2

  func data(of row: Row) throws(Rejection) -> ItemData {
    var data: ItemData
    if let memberNames {
      data = try object(of: row) { (append) throws(Rejection) in
        for (name, pointer) in memberNames {
          if let field = row.find(pointer) { try append(name.span, pointer, field) }
        }
      }
    } else {
      guard let field = row.find(source.data.pointer) else {
        throw Rejection(.unmappable, "the row has nothing at the pointer of 'data'")
      }
      data = try value(field, of: row)
    }
    guard data.text.count <= limits.maxDataBytes else {
      throw tooLong("'data'", data.text.count, "maxDataBytes", limits.maxDataBytes)
    }
    orderCheck.note(row, decimals, arena: arena)
    return data
  }

  /// The data that a pointer leads to, spelled as in the row unless something in it is not to be written.
  private func value(_ field: JSONText.Field, of row: Row) throws(Rejection) -> ItemData {
    let (text, form) = (row.text, decimals.at(source.data.pointer))
    var lack: Rejection?
    let lacking = mayLackValues ? unavailable.token(in: field, of: text, arena: arena) : nil
    let isMarked = isMarked && source.data.pointer.tokens.isEmpty
    if lacking == nil, form == .none, !isMarked {
      try checkDepth(field, of: text, inside: Self.eventDepth)
      return ItemData(text: text.span(of: field))
    }
    if lacking != field.first, text.character(field.first) == UInt8(ascii: "{"), form != .withScale {
      return try object(of: row) { (append) throws(Rejection) in
        try text.forEachMember(of: field.first, arena: arena) { (name, value) throws(Rejection) in
          if isMarked, name.matches(Row.deletedMark) { return }
          let pointer = JSONPointer(tokens: source.data.pointer.tokens + [Array(name.buffer)])
          try append(text.span(from: value.first - 2, to: value.first - 1), pointer, value)
        }
      }
    }
    members.removeAll(keepCapacity: 1 << 20)
    guard let (text, field) = try findOrKeep(source.data.pointer, field, of: row, &lack) else {
      return ItemData(text: .empty, lack: lack)
    }
    try append(field, of: text, form, source.data.pointer, inside: Self.eventDepth)
    return ItemData(text: members.written)
  }

  /// An object of members of a row.
  ///
  /// - Parameter each: calls its parameter with each member: the name in quotes, where it is in the row, and its value.
  private func object(
    of row: Row,
    _ each: (_ append: (ByteSpan, JSONPointer, JSONText.Field) throws(Rejection) -> Void) throws(Rejection) ->
      Void
  ) throws(Rejection) -> ItemData {
    members.removeAll(keepCapacity: 1 << 20)
    var lack: Rejection?
    var nested: [ByteSpan] = []
    try each { (name, pointer, field) throws(Rejection) in
      guard let (text, field) = try findOrKeep(pointer, field, of: row, &lack) else { return }
      if mayLackValues, text.character(field.first) == UInt8(ascii: "{") { nested.append(name) }
      members.append(members.count == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
      members.append(name)
      members.append(UInt8(ascii: ":"))
      try append(field, of: text, decimals.at(pointer), pointer, inside: Self.eventDepth + 1)
    }
    members.append(members.count == 0 ? "{}" : "}")
    guard let lack else { return ItemData(text: members.written) }
    let end = members.count
    for name in nested {
      members.append(members.count == end ? UInt8(ascii: "{") : UInt8(ascii: ","))
      members.append(name)
      members.append(":null")
    }
    if !nested.isEmpty { members.append("}") }
    return ItemData(text: members.span(0..<end), lack: lack, removals: members.span(end..<members.count))
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
    guard mayLackValues else { return (row.text, field) }
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
    guard form != .none else {
      try checkDepth(field, of: text, inside: depth)
      return members.append(text.span(of: field))
    }
    if let number = try number(field.first, text, form, pointer) { return members.append(number) }
    switch text.character(field.first) {
    case UInt8(ascii: "{"):
      var isFirst = true
      try text.forEachMember(of: field.first, arena: arena) { (name, value) throws(Rejection) in
        members.append(isFirst ? UInt8(ascii: "{") : UInt8(ascii: ","))
        members.append(text.span(from: value.first - 2, to: value.first - 1))
        members.append(UInt8(ascii: ":"))
        try append(value, of: text, form[name], pointer, inside: depth + 1)
        isFirst = false
      }
      members.append(isFirst ? "{}" : "}")
    case UInt8(ascii: "["):
      let each: Decimals = if case .elements(let each) = form { each } else { .none }
      var isFirst = true
      try text.forEachElement(of: field.first) { (element) throws(Rejection) in
        members.append(isFirst ? UInt8(ascii: "[") : UInt8(ascii: ","))
        try append(element, of: text, each, pointer, inside: depth + 1)
        isFirst = false
      }
      members.append(isFirst ? "[]" : "]")
    default: members.append(text.span(of: field))
    }
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
