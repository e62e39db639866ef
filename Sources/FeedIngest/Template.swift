import Feed
import FeedConfiguration

extension RowMapper {
  /// A template whose literals are at fixed addresses, and whose parts are read without counting references.
  final class Template {
    let text: String
    /// The member of the source that has it.
    let name: String
    /// Literals, and for a place the index of it.
    let parts: [(literal: ByteSpan?, place: Int)]
    let places: [IngestTemplate.Part]
    private let literals: [OwnedSpan?]

    init(_ template: IngestTemplate, _ name: String) {
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

  func text(of template: Template, _ row: Row?, mayBeEmpty: Bool = false) throws(Rejection) -> ByteSpan {
    parts.removeAll(keepingCapacity: true)
    var count = 0
    for (literal, place) in template.parts {
      guard let span = if let literal { literal } else { try span(of: template.places[place], row) } else {
        let problem = "\(template.places[place].text) is not a string, number, true or false in this record"
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

  /// Whether a place in a template is `null` or absent, so that there is no text.
  func lacksText(_ template: Template, _ row: Row) throws(Rejection) -> Bool {
    for place in template.places {
      let found: (text: JSONText, field: JSONText.Field)?
      switch place {
      case .row(let pointer): found = try find(pointer, in: row)
      case .key(let pointer) where !pointer.tokens.isEmpty && key != nil:
        found = key.flatMap { pointer.find(in: keyIndexer.text, from: $0) }.map { (keyIndexer.text, $0) }
      default: continue
      }
      guard let found, found.text.character(found.field.first) != UInt8(ascii: "n") else { return true }
    }
    return false
  }

  /// The text of a place; nil if it has none.
  private func span(of part: IngestTemplate.Part, _ row: Row?) throws(Rejection) -> ByteSpan? {
    if case .row(let pointer) = part {
      guard let row else { return nil }
      if !mayHaveMarks, !hasDecimals { return row.find(pointer).flatMap { scalar($0, row.text) } }
      guard let (text, field) = try find(pointer, in: row) else { return nil }
      return try number(field.first, text, decimals(at: pointer), pointer) ?? scalar(field, text)
    }
    guard case .key(let pointer) = part, let keyBytes, !keyBytes.isEmpty else {
      throw Rejection(.missingKey, "the record has no key, and the mapping uses it")
    }
    let text = keyIndexer.text
    if !pointer.tokens.isEmpty {
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
    default: return text.span(of: field)
    }
  }

  /// The value at a pointer; instead of a placeholder, the former value.
  func find(_ pointer: JSONPointer, in row: Row) throws(Rejection) -> (JSONText, JSONText.Field)? {
    guard let field = row.find(pointer) else { return nil }
    guard mayHaveMarks, let token = unavailable.token(in: field, of: row.text, arena: arena) else {
      return (row.text, field)
    }
    if let fallback, let former = fallback.find(pointer),
      unavailable.token(in: former, of: fallback.text, arena: arena) == nil
    {
      return (fallback.text, former)
    }
    isPartial = true
    throw Rejection(
      .unmappable,
      """
      the change event does not have the value of the column \(row.column(of: token, arena: arena)), which the update left as it was, and \
      the mapping needs it; have the database log it (PostgreSQL: REPLICA IDENTITY FULL), or leave the column out of the mapping; the \
      \(isContent ? "content" : "item") stays as it was
      """
    )
  }

  /// A decimal as a JSON number; nil if it is not one, or is spelled as one.
  func number(
    _ token: Int,
    _ text: JSONText,
    _ form: Decimals,
    _ pointer: JSONPointer
  ) throws(Rejection) -> ByteSpan? {
    if case .none = form { return nil }
    if let number = form.number(token, of: text, arena: arena) { return number.span(in: arena) }
    let opening = form == .withScale ? UInt8(ascii: "{") : UInt8(ascii: "\"")
    guard form.isBytes, text.character(token) == opening else { return nil }
    throw Rejection(
      .unmappable,
      """
      the value at \(pointer.text.debugDescription) is not a decimal of bytes in Base64; correct 'decimals' of the source ("text" if \
      the connector has decimal.handling.mode=string)
      """
    )
  }
}
