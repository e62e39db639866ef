/// Reads what a ``SavedStateWriter`` has spelled, and trusts nothing of it. What was read may be used only
/// once ``isComplete`` says so: the checksum stands at the end.
package final class SavedStateReader {
  /// What a line said.
  package enum Line {
    case header(SavedStateHeader)
    /// The feeds that follow are of this partition.
    case partition(SavedPartition)
    /// A feed, which is in the replicas now.
    case feed
    /// A feed that was not wanted.
    case passedOver
    case end
  }

  private typealias Field = JSONText.Field

  /// Whether the last line was read, and everything before it is as it was written.
  package private(set) var isComplete = false
  /// Lines read.
  package private(set) var lineCount = 0

  private let indexer = JSONIndexer()
  private let arena = ScratchArena()
  private var checksum = SavedStateChecksum()
  private var hasPartition = false
  /// No count, size or offset is more; so they can be added.
  private static let greatestNumber: Int64 = 1 << 53

  package init() {}

  /// Reads the next line.
  ///
  /// - Parameters:
  ///   - line: without its line feed.
  ///   - replicas: where a feed goes; nil if those of the partition are not wanted.
  ///   - feeds: the feeds that are wanted; nil for all.
  package func read(
    _ line: ByteSpan,
    into replicas: ReplicaPartition?,
    feeds: Set<ByteText>?
  ) throws(SavedStateFault) -> Line {
    do throws(SavedStateFault) {
      lineCount += 1
      guard !isComplete else { throw SavedStateFault("comes after the end") }
      return try readNext(line, into: replicas, feeds: feeds)
    } catch {
      isComplete = false
      throw SavedStateFault("line \(lineCount) \(error.message)")
    }
  }

  private func readNext(
    _ line: ByteSpan,
    into replicas: ReplicaPartition?,
    feeds: Set<ByteText>?
  ) throws(SavedStateFault) -> Line {
    let before = checksum
    checksum.append(line)
    // The most there is, and it costs the most to look at.
    if replicas == nil, hasPartition, line.count > 8, ByteSpan(line.base, 8).matches("{\"feed\":") {
      return .passedOver
    }
    arena.reset()
    let text = try validated(line)
    switch try firstName(text) {
    case "format" where before.lineCount == 0: return .header(try header(text))
    case "partition" where before.lineCount > 0:
      hasPartition = true
      return .partition(try partition(text))
    case "feed" where hasPartition: return try feed(text, replicas, feeds)
    case "lines" where before.lineCount > 0:
      try readEnd(text, before)
      isComplete = true
      return .end
    case let name: throw SavedStateFault("begins with the field \"\(name)\", which does not belong there")
    }
  }

  // MARK: Lines

  private func header(_ text: JSONText) throws(SavedStateFault) -> SavedStateHeader {
    var header = SavedStateHeader(topic: "", cluster: nil, feeds: nil, timeMilliseconds: 0)
    var (format, version): (String?, Int64?)
    try forEachField(text) { name, field throws(SavedStateFault) in
      switch name {
      case "format": format = try string(text, name, field)
      case "version": version = try number(text, name, field)
      case "topic": header.topic = try string(text, name, field)
      case "cluster": header.cluster = try string(text, name, field)
      case "feeds": header.feeds = try strings(text, name, field)
      case "time": header.timeMilliseconds = try time(text, name, field)
      default: break
      }
    }
    guard format == SavedStateWriter.format.description else {
      throw SavedStateFault("is not the header of a saved state")
    }
    guard version == SavedStateWriter.version else {
      let found = version.map { String($0) } ?? "none"
      throw SavedStateFault(
        "names version \(found) of the format; this is version \(SavedStateWriter.version)"
      )
    }
    return header
  }

  private func partition(_ text: JSONText) throws(SavedStateFault) -> SavedPartition {
    var (partition, position, asOf): (Int64?, Int64?, Int64?)
    var behind: [ByteText: Int64] = [:]
    try forEachField(text) { name, field throws(SavedStateFault) in
      switch name {
      case "partition": partition = try number(text, name, field)
      case "position": position = try number(text, name, field)
      case "asOf": asOf = try time(text, name, field)
      case "behind":
        guard text.character(field.first) == UInt8(ascii: "{") else { throw invalid(name) }
        try text.forEachMember(of: field.first, arena: arena) { feed, offset throws(SavedStateFault) in
          behind[ByteText(feed)] = try number(text, name, offset)
        }
      default: break
      }
    }
    guard let number = partition.flatMap({ Int32(exactly: $0) }), let position, let asOf else {
      throw SavedStateFault("lacks the partition's number, position or time")
    }
    return SavedPartition(number: number, position: position, behind: behind, asOf: asOf)
  }

  private func feed(
    _ text: JSONText,
    _ replicas: ReplicaPartition?,
    _ feeds: Set<ByteText>?
  ) throws(SavedStateFault) -> Line {
    var id: ByteText?
    var (lost, isStale, reload): (String?, Bool, Field?) = (nil, false, nil)
    var version = PublishedVersion(epoch: [], revision: 0, through: [])
    try forEachField(text) { name, field throws(SavedStateFault) in
      switch name {
      case "feed": id = ByteText(try string(text, name, field))
      case "lost": lost = try string(text, name, field)
      case "stale": isStale = true
      case "deltaCount": version.deltaCount = try keyNumber(text, name, field)
      case "deltaBytes": version.deltaBytes = Int(try number(text, name, field))
      case "highestDelta": version.highestDelta = try keyNumber(text, name, field)
      case "reloadBytes": version.reloadBytes = Int(try number(text, name, field))
      case "reloadParts": version.reloadParts = try keyNumber(text, name, field)
      case "reload": reload = field
      default: break
      }
    }
    guard let id, reload != nil || lost != nil else { throw SavedStateFault("lacks the feed's state") }
    guard let replicas, feeds?.contains(id) != false else { return .passedOver }
    guard let reload else {
      if let lost { replicas.restore(id, lost: lost) }
      return .feed
    }
    do throws(ReplicaFault) {
      let record = try DecodedChangeset(text, at: reload.first, arena: arena)
      guard ByteText(record.feed) == id else { throw ReplicaFault(.invalidChangeset, "two feeds are named") }
      try replicas.restore(record, version, lost: lost ?? (isStale ? "changes of the feed were missed" : nil))
    } catch {
      throw SavedStateFault("has an inconsistent feed: \(error.message)")
    }
    return .feed
  }

  private func readEnd(_ text: JSONText, _ expected: SavedStateChecksum) throws(SavedStateFault) {
    var (lines, checksum): (Int64?, String?)
    try forEachField(text) { name, field throws(SavedStateFault) in
      switch name {
      case "lines": lines = try number(text, name, field)
      case "checksum": checksum = try string(text, name, field)
      default: break
      }
    }
    // As it is spelled, so that no byte can be another.
    guard lines == Int64(expected.lineCount), checksum == expected.text else {
      throw SavedStateFault("has a checksum that does not match the lines before it")
    }
  }

  // MARK: Values

  private func validated(_ line: ByteSpan) throws(SavedStateFault) -> JSONText {
    do throws(JSONFault) {
      return try indexer.validatedWithPairedSurrogates(line)
    } catch {
      throw SavedStateFault("is not JSON: \(error.explanation)")
    }
  }

  private func firstName(_ text: JSONText) throws(SavedStateFault) -> String {
    var first: String?
    try forEachField(text) { name, _ in first = first ?? name }
    return first ?? ""
  }

  private func forEachField(
    _ text: JSONText,
    _ body: (String, Field) throws(SavedStateFault) -> Void
  ) throws(SavedStateFault) {
    guard text.character(0) == UInt8(ascii: "{") else { throw SavedStateFault("is not a JSON object") }
    try text.forEachMember(of: 0, arena: arena) { name, field throws(SavedStateFault) in
      try body(name.text, field)
    }
  }

  private func string(_ text: JSONText, _ name: String, _ field: Field) throws(SavedStateFault) -> String {
    guard text.character(field.first) == UInt8(ascii: "\"") else { throw invalid(name) }
    return text.string(field.first, arena: arena).text
  }

  private func strings(
    _ text: JSONText,
    _ name: String,
    _ field: Field
  ) throws(SavedStateFault) -> Set<ByteText> {
    guard text.character(field.first) == UInt8(ascii: "[") else { throw invalid(name) }
    var strings: Set<ByteText> = []
    try text.forEachElement(of: field.first) { element throws(SavedStateFault) in
      strings.insert(ByteText(try string(text, name, element)))
    }
    return strings
  }

  private func number(_ text: JSONText, _ name: String, _ field: Field) throws(SavedStateFault) -> Int64 {
    guard text.character(field.first) &- 0x30 < 10, let number = text.integer(field.first),
      (0...Self.greatestNumber).contains(number)
    else { throw invalid(name) }
    return number
  }

  /// A number of keys, or of one of them.
  private func keyNumber(_ text: JSONText, _ name: String, _ field: Field) throws(SavedStateFault) -> Int {
    let number = try number(text, name, field)
    guard number <= RecordKey.greatestNumber + 1 else { throw invalid(name) }
    return Int(number)
  }

  private func time(_ text: JSONText, _ name: String, _ field: Field) throws(SavedStateFault) -> Int64 {
    guard text.character(field.first) == UInt8(ascii: "\""),
      let time = TimestampFormat.milliseconds(text.string(field.first, arena: arena))
    else { throw invalid(name) }
    return time
  }

  private func invalid(_ name: String) -> SavedStateFault {
    SavedStateFault("has an invalid value in the field \"\(name)\"")
  }
}
