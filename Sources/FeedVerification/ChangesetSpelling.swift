import Feed

/// Spells what was read of a changeset record as the protocol, section 4, has it, to be compared with the
/// record's own bytes. Written from the protocol and apart from what publishes, so that both would have to
/// be wrong in the same way.
struct ChangesetSpelling {
  let output: ByteWriter
  /// How the record begins and ends, where it is a part.
  private(set) var seam = PartSeam.none

  init(_ output: ByteWriter) {
    self.output = output
  }

  // MARK: Head

  /// The fields before the lists; the object stays open.
  func append(head record: DecodedChangeset, _ through: [TopicOffset], withPart: Bool) {
    append(
      head: record,
      through,
      withPart: withPart,
      base: record.base,
      mode: record.mode,
      reason: record.reason
    )
  }

  /// The same fields of another changeset in the record's place.
  func append(
    head record: DecodedChangeset,
    _ through: [TopicOffset],
    withPart: Bool,
    base: UInt64,
    mode: ChangesetMode,
    reason: ReloadReason?
  ) {
    output.append("{\"feed\":")
    output.append(quoted: record.feed)
    output.append(",\"epoch\":")
    output.append(quoted: record.epoch)
    output.append(",\"revision\":")
    output.append(decimal: record.revision)
    output.append(",\"base\":")
    output.append(decimal: base)
    if withPart, record.parts > 1 {
      output.append(",\"part\":")
      output.append(decimal: record.part)
      output.append(",\"parts\":")
      output.append(decimal: record.parts)
    }
    output.append(",\"mode\":")
    output.append(quotedText: mode.rawValue)
    if let reason {
      output.append(",\"reason\":")
      output.append(quotedText: reason.rawValue)
    }
    output.append(",\"time\":")
    output.append(quoted: record.time)
    output.append(",\"through\":{")
    for (position, entry) in through.enumerated() {
      if position > 0 { output.append(",") }
      entry.topic.withUnsafeBytes { output.append(quoted: ByteSpan($0)) }
      output.append(":")
      output.append(decimal: Int(entry.offset))
    }
    output.append("},\"checksum\":\"")
    output.append(string: Replica.hexadecimal(record.checksum))
    output.append("\"")
  }

  func appendEnd() { output.append("}") }

  // MARK: Differences

  /// What stands before the lists of sections or items in a difference, and what ends them.
  static func groupOpening(ofItems: Bool) -> StaticString { ofItems ? ",\"items\":{" : ",\"sections\":{" }
  static let groupEnd: StaticString = "}"
  /// What stands around a list's name, and what ends the list.
  static let nameOpening: StaticString = "\""
  static let nameEnd: StaticString = "\":["
  static let listEnd: StaticString = "]"
  static let comma: StaticString = ","
  /// What stands before the items of a reload's section.
  static let itemsOpening: StaticString = ",\"items\":["

  mutating func append(_ entries: DecodedEntries) {
    append(EntryList.ofSections, Self.groupOpening(ofItems: false), entries)
    append(EntryList.ofItems, Self.groupOpening(ofItems: true), entries)
  }

  private mutating func append(_ lists: [EntryList], _ opening: StaticString, _ entries: DecodedEntries) {
    var isFirst = true
    for list in lists {
      let entries = list.entries(of: entries)
      if entries.isEmpty { continue }
      output.append(isFirst ? opening : Self.comma)
      isFirst = false
      output.append(Self.nameOpening)
      output.append(list.name)
      output.append(Self.nameEnd)
      for (position, entry) in entries.enumerated() {
        if position > 0 { output.append(Self.comma) }
        let start = output.count
        append(entry, list)
        note(list, bytes: output.count - start)
      }
      output.append(Self.listEnd)
    }
    if !isFirst { output.append(Self.groupEnd) }
  }

  private mutating func note(_ list: EntryList, bytes: Int) {
    if case .entries(let first, _, let firstBytes) = seam {
      seam = .entries(first: first, last: list, firstBytes: firstBytes)
    } else {
      seam = .entries(first: list, last: list, firstBytes: bytes)
    }
  }

  private func append(_ entry: DecodedEntries.Entry, _ list: EntryList) {
    output.append("{\"id\":")
    output.append(quoted: entry.id)
    switch list {
    case .sectionDelete: appendPosition(nil, entry.from)
    case .itemDelete: appendPosition(entry.fromSection, entry.from)
    case .sectionMove:
      output.append(",\"from\":")
      output.append(decimal: Int(entry.from))
      output.append(",\"to\":")
      output.append(decimal: Int(entry.to))
    case .itemMove:
      append(",\"from\":{\"section\":", entry.fromSection, entry.from)
      append(",\"to\":{\"section\":", entry.toSection, entry.to)
    case .sectionInsert, .sectionReconfigure, .sectionReload: appendPosition(nil, entry.to)
    case .itemInsert, .itemReconfigure, .itemReload: appendPosition(entry.toSection, entry.to)
    }
    if list == .itemInsert || list == .itemReload {
      output.append(",\"kind\":")
      output.append(quoted: entry.kind ?? .empty)
    }
    switch list {
    case .sectionDelete, .sectionMove, .itemDelete, .itemMove: break
    default:
      output.append(",\"data\":")
      output.append(entry.data ?? ByteSpan("null"))
    }
    output.append("}")
  }

  private func appendPosition(_ section: ByteSpan?, _ index: Int32) {
    if let section {
      output.append(",\"section\":")
      output.append(quoted: section)
    }
    output.append(",\"index\":")
    output.append(decimal: Int(index))
  }

  private func append(_ opening: StaticString, _ section: ByteSpan, _ index: Int32) {
    output.append(opening)
    output.append(quoted: section)
    output.append(",\"index\":")
    output.append(decimal: Int(index))
    output.append("}")
  }

  // MARK: Reloads

  mutating func append(reload record: DecodedChangeset) throws(Violation) {
    var isFirstSection = true
    var isFirstItem = true
    var (isContinued, firstBytes) = (false, 0)
    try ReloadWalk.forEach(record) { section throws(Violation) in
      output.append(isFirstSection ? ",\"sections\":[" : ",")
      let start = output.count
      output.append("{\"id\":")
      output.append(quoted: section.id)
      if let data = section.data {
        output.append(",\"data\":")
        output.append(data)
      }
      if isFirstSection {
        isContinued = section.data == nil
        // With the closing brace.
        if !isContinued { firstBytes = output.count - start + 1 }
      }
      isFirstSection = false
      isFirstItem = true
    } item: { item throws(Violation) in
      output.append(isFirstItem ? Self.itemsOpening : Self.comma)
      isFirstItem = false
      let start = output.count
      output.append("{\"id\":")
      output.append(quoted: item.id)
      output.append(",\"kind\":")
      output.append(quoted: item.kind)
      output.append(",\"data\":")
      output.append(item.data)
      output.append("}")
      if firstBytes == 0 { firstBytes = output.count - start }
    } sectionEnd: {
      output.append(isFirstItem ? "}" : "]}")
    }
    if isFirstSection { return }
    output.append("]")
    seam = .sections(isContinued: isContinued, firstBytes: firstBytes, lastHasItems: !isFirstItem)
  }
}

extension ByteWriter {
  fileprivate func append(quotedText text: String) { ByteText(text).withBytes { append(quoted: $0) } }
}
