/// Decoding of references, and of the records of the contents topic (protocol, section 2.16).
extension RecordDecoder {
  // MARK: References

  /// References in their spelling in changesets; empty for none.
  ///
  /// - Parameter isPatch: whether a member may be `null`, which removes it.
  @inline(__always)
  func references(_ field: EventField, isPatch: Bool) throws(Rejection) -> ByteSpan? {
    field.isAbsent ? nil : try givenReferences(field, isPatch: isPatch)
  }

  /// Reads the references of the listed item that is appended next.
  @inline(never)
  func readListed(_ field: EventField) throws(Rejection) {
    guard takesReferences else {
      return ignored.note(
        field.parent == .items ? .sectionReplace : .feedReplace,
        field.parent,
        ByteSpan("refs")
      )
    }
    listedReferences[items.count] = try references(field, isPatch: false)
  }

  /// All fields of a listed item.
  @inline(__always)
  func fields(ofItem position: Int) -> ElementFields {
    var fields = items[position].fields
    if hasReferences { fields.refs = listedReferences[position] }
    return fields
  }

  @inline(never)
  private func givenReferences(_ field: EventField, isPatch: Bool) throws(Rejection) -> ByteSpan {
    guard text.character(field.value.first) == UInt8(ascii: "{") else {
      throw invalid(field, "must be an object with ids of contents by name")
    }
    var members: [(name: ByteSpan, id: ByteSpan?)] = []
    try text.forEachMember(of: field.value.first, arena: arena) { name, value throws(Rejection) in
      var id: ByteSpan?
      let found = text.span(of: value)
      if found[0] == UInt8(ascii: "\"") { id = text.string(value.first, arena: arena) }
      let isKnown =
        isPatch && found.matches("null") || id.map { (1...References.greatestID).contains($0.count) } ?? false
      guard isKnown, (1...References.greatestID).contains(name.count) else {
        let problem =
          "must have names and ids of 1 to \(References.greatestID) bytes"
          + (isPatch ? ", or null instead of an id" : "")
        throw invalid(field, problem)
      }
      // Of duplicates the last counts.
      members.removeAll { $0.name.hasSameBytes(as: name) }
      members.append((name, id))
    }
    (hasReferences, hasLists) = (true, true)
    if members.isEmpty { return .empty }
    let output = referenceOutput
    output.removeAll()
    for (number, member) in members.enumerated() {
      output.append(UInt8(ascii: number == 0 ? "{" : ","))
      output.append(quoted: member.name)
      output.append(UInt8(ascii: ":"))
      if let id = member.id { output.append(quoted: id) } else { output.append(FeedState.null) }
    }
    output.append(UInt8(ascii: "}"))
    try RecordDecoder.checkReferences(
      output.written,
      most: isPatch ? .max : References.most,
      path: field.path
    )
    return arena.copy(output.written)
  }

  /// References after a patch, valid until the next patch; empty for none.
  ///
  /// - Parameter patch: in the spelling of changesets, with `null` for references to remove.
  func patchedReferences(_ old: ByteSpan, by patch: ByteSpan) throws(Rejection) -> ByteSpan {
    let output = referenceOutput
    output.removeAll()
    mergePatch.apply(patch, to: old.isEmpty ? ByteSpan("{}") : old, into: output)
    if output.written.matches("{}") { return .empty }
    try RecordDecoder.checkReferences(output.written, most: References.most, path: "refs")
    return output.written
  }

  private static func checkReferences(_ text: ByteSpan, most: Int, path: String) throws(Rejection) {
    let count = References.Members(text).reduce(0) { count, _ in count + 1 }
    guard count <= most, text.count <= References.mostBytes else {
      let problem =
        "has \(count) references of \(text.count) bytes in all, more than \(References.most) or "
        + "\(References.mostBytes) bytes"
      throw Rejection(.invalidField, field: path, problem)
    }
  }

  // MARK: Contents

  /// The id in the key of a record of the contents topic, with quotes; nil if the key is invalid. Valid until the next record.
  func contentID(of record: InputRecord) -> ByteSpan? {
    do throws(Rejection) { try check(key: record.key) } catch { return nil }
    let id = referenceOutput
    id.removeAll()
    id.append(quoted: record.key ?? .empty)
    return id.written
  }

  /// Decodes the value of a record of the contents topic, and checks its key.
  ///
  /// - Returns: the content; nil for a record that deletes it. Valid until the next record.
  package func decodeContent(_ record: InputRecord) throws(Rejection) -> ByteSpan? {
    defer { if case .bytes(let bytes) = record.value { trim(after: bytes) } }
    var field: JSONText.Field?
    switch record.value {
    case .null: try check(key: record.key)
    case .bytes(let bytes): field = try index(key: record.key, bytes)
    case .json(let whole, let first, let end):
      field = (first, end)
      try index(key: record.key, valueIn: whole.takeUnretainedValue(), from: first, to: end)
    }
    guard let field else { return nil }
    guard text.character(field.first) == UInt8(ascii: "{") else {
      let found = text.span(of: field).valueForMessage()
      throw Rejection(
        .invalidField,
        "a content must be an object, or a null record to delete it, found \(found)"
      )
    }
    let value = text.compactSpan(from: field.first, to: field.end, arena: arena)
    guard value.count <= limits.maxDataBytes / 8 else {
      throw Rejection(
        .limitExceeded,
        "the content has \(value.count) bytes, more than an eighth of limits.maxDataBytes (\(limits.maxDataBytes))"
      )
    }
    return value
  }
}
