import Feed

/// The contents that items refer to, by their ids: minified JSON (protocol, section 2.16).
public typealias OracleContents = [[UInt8]: [UInt8]]

/// The references of an item.
enum OracleReferences {
  /// An event's `refs` in their spelling in changesets, empty for none; nil if they are invalid.
  ///
  /// - Parameter isPatch: whether `null` may stand for an id.
  static func canonical(_ json: OracleJSON, isPatch: Bool = false) -> [UInt8]? {
    guard case .object(let members) = json.content else { return nil }
    var last: [(name: [UInt8], id: [UInt8]?)] = []
    for member in members {
      let isNull = member.value.content == .null && isPatch
      guard isNull || isID(member.value.string), isID(member.name) || !keeps(.referenceNames) else {
        return nil
      }
      last.removeAll { $0.name == member.name }
      last.append((member.name, member.value.string))
    }
    return bounded(last, isPatch: isPatch)
  }

  private static func isID(_ text: [UInt8]?) -> Bool { text.map { (1...255).contains($0.count) } ?? false }

  private static func bounded(_ members: [(name: [UInt8], id: [UInt8]?)], isPatch: Bool) -> [UInt8]? {
    if members.isEmpty { return [] }
    var text = OracleText()
    text.add("{")
    for (number, member) in members.enumerated() {
      if number > 0 { text.add(",") }
      text.addString(member.name)
      text.add(":")
      if let id = member.id { text.addString(id) } else { text.add("null") }
    }
    text.add("}")
    let isWithin = text.bytes.count <= 2048 && (isPatch || members.count <= 4 || !keeps(.fourReferences))
    return isWithin ? text.bytes : nil
  }

  /// The names and ids of references in their spelling in changesets.
  static func members(_ text: [UInt8]) -> [(name: [UInt8], id: [UInt8]?)] {
    guard case .object(let members)? = (try? OracleJSON.parse(text))?.content else { return [] }
    return members.map { ($0.name, $0.value.string) }
  }

  /// References after a patch; nil if they are too many.
  static func merged(_ old: [UInt8], _ patch: [UInt8]) -> [UInt8]? {
    var result = members(old)
    for (name, id) in members(patch) {
      if let place = result.firstIndex(where: { $0.name == name }) {
        if id == nil { result.remove(at: place) } else { result[place].id = id }
      } else if id != nil {
        result.append((name, id))
      }
    }
    return bounded(result, isPatch: false)
  }
}

extension OracleItem {
  /// Sets the item's own data and its references; its data then includes the contents.
  mutating func set(own: [UInt8], refs: [UInt8], _ contents: OracleContents) {
    self.own = own
    self.refs = refs
    show(contents)
  }

  /// Composes the data. Own data that is not an object stays as it is, until the record is rejected.
  mutating func show(_ contents: OracleContents) {
    data = own
    guard own.first == UInt8(ascii: "{"), !refs.isEmpty else { return }
    var text = OracleText()
    text.add(Array(own.dropLast()))
    for (name, id) in OracleReferences.members(refs) {
      if text.bytes.count > 1 { text.add(",") }
      text.addString(name)
      text.add(":")
      text.add(id.flatMap { contents[$0] } ?? Array("null".utf8))
    }
    text.add("}")
    data = text.bytes
  }

  /// Why the item's own data does not go with its references; nil if it does.
  func referenceFault(maxDataBytes: Int) -> (code: OracleRejectCode, field: String)? {
    if refs.isEmpty { return nil }
    guard case .object(let members)? = (try? OracleJSON.parse(own, maxDepth: .max))?.content else {
      return keeps(.ownDataIsObject) ? (.invalidField, "refs") : nil
    }
    let names = OracleReferences.members(refs).map(\.name)
    if members.contains(where: { names.contains($0.name) }), keeps(.ownNamesDiffer) {
      return (.invalidField, "refs")
    }
    return own.count > maxDataBytes / 2 ? (.limitExceeded, "data") : nil
  }
}

extension OracleFeed {
  /// Shows the contents in all items.
  ///
  /// - Returns: the ids of the items that changed.
  mutating func show(_ contents: OracleContents) -> [[UInt8]] {
    var changed: [[UInt8]] = []
    for section in sections.indices {
      for index in sections[section].items.indices {
        let before = sections[section].items[index].data
        sections[section].items[index].show(contents)
        if sections[section].items[index].data != before { changed.append(sections[section].items[index].id) }
      }
    }
    return changed
  }
}

extension Oracle {
  /// Applies a record of the contents topic.
  mutating func applyContent(_ record: OracleRecord) throws(OracleRejection) {
    do {
      show(try content(of: record), record)
    } catch {
      let hasID = record.key.map { (1...limits.maxIdBytes).contains($0.count) && OracleUTF8.isValid($0) }
      if hasID == true, keeps(.invalidContentDeletes) { show(nil, record) }
      throw error
    }
  }

  /// Sets a content, or deletes it, and shows that.
  private mutating func show(_ value: [UInt8]?, _ record: OracleRecord) {
    contents[record.key ?? []] = value
    seenContents[record.partition] = max(record.offset, seenContents[record.partition] ?? 0)
    for key in feedKeys { showContents(in: key, at: record.time) }
  }

  private func content(of record: OracleRecord) throws(OracleRejection) -> [UInt8]? {
    guard let id = record.key, !id.isEmpty else { throw OracleRejection(.missingKey) }
    guard OracleUTF8.isValid(id), OracleUTF8.isValid(record.value ?? []) else {
      throw OracleRejection(.invalidUTF8)
    }
    guard record.byteCount <= limits.maxRecordBytes, id.count <= limits.maxIdBytes else {
      throw OracleRejection(.limitExceeded)
    }
    guard let value = record.value else { return nil }
    let json: OracleJSON
    do {
      json = try OracleJSON.parse(value, maxDepth: limits.maxDepth)
    } catch {
      if case .tooDeep = error { throw OracleRejection(.limitExceeded) }
      throw OracleRejection(.invalidJSON)
    }
    guard case .object = json.content else { throw OracleRejection(.invalidField) }
    guard json.minified.count <= limits.maxDataBytes / 8 else { throw OracleRejection(.limitExceeded) }
    return json.minified
  }
}
