public import Feed

/// Checks the records of flushes in sequence, byte by byte.
///
/// From the actual records, it takes only the choices that the protocol leaves open: one of several minimal sets of
/// moves, and the consequences for the planner. It checks that the choice is valid, writes the resulting records, and
/// compares. It also checks that the items of ordered sections are in order in each revision, and within their bounds.
public struct ChangesetJudge: Sendable {
  private let maxMessageBytes: Int
  private var writer: OracleWriter

  public init(
    planner: PlannerThresholds = PlannerThresholds(),
    keyframes: KeyframePolicy = KeyframePolicy(),
    output: OutputOptions = OutputOptions()
  ) {
    maxMessageBytes = output.maxMessageBytes
    writer = OracleWriter(planner: planner, keyframes: keyframes, output: output)
  }

  /// The records of a flush as the oracle would write them, with one of the minimal sets of moves.
  ///
  /// Like `judge`, this advances the judge's state: call only one of them for each flush.
  public mutating func expectedRecords(_ flush: OracleFlush) -> [JudgedRecord] {
    flush.changes.flatMap { writer.write($0, writer.choice($0)) }
  }

  /// Checks that these are exactly the records of a flush, in order.
  public mutating func judge(_ flush: OracleFlush, _ records: [JudgedRecord]) throws(JudgeFailure) {
    var writer = writer
    var rest = records[...]
    for change in flush.changes {
      let name = "feed \(String(decoding: change.key.id, as: UTF8.self)) of partition \(change.key.partition)"
      do throws(JudgeFailure) {
        if let complaint = change.after?.disorder { throw JudgeFailure(complaint) }
        let choice = try choice(change, rest)
        for (number, expected) in writer.write(change, choice).enumerated() {
          guard let found = rest.popFirst() else {
            throw JudgeFailure("record \(number) is missing\nexpected \(expected)")
          }
          try compare(found, expected, "record \(number)")
        }
      } catch {
        throw JudgeFailure("\(name), revision \(change.revision): \(error.description)")
      }
    }
    if let surplus = rest.first {
      throw JudgeFailure("\(rest.count) records too many, the first:\n\(surplus)")
    }
    self.writer = writer
  }

  private func compare(_ found: JudgedRecord, _ expected: JudgedRecord, _ name: String) throws(JudgeFailure) {
    if let count = found.value?.count, count > maxMessageBytes {
      throw JudgeFailure("\(name): \(count) bytes, \(maxMessageBytes) allowed")
    }
    if found == expected { return }
    var differences: [String] = []
    if found.partition != expected.partition { differences.append("partition") }
    if found.timestamp != expected.timestamp { differences.append("timestamp") }
    if found.key != expected.key { differences.append("key") }
    if found.headers != expected.headers { differences.append("headers") }
    if found.value != expected.value {
      let pairs = zip(found.value ?? [], expected.value ?? [])
      let at = pairs.enumerated().first { $1.0 != $1.1 }?.offset
      differences.append("value" + (at.map { " from byte \($0) on" } ?? " (one is longer)"))
    }
    throw JudgeFailure(
      "\(name) differs in \(differences.joined(separator: ", "))\nexpected \(expected)\nfound    \(found)"
    )
  }

  // MARK: - The choice

  /// Takes the choice from the records, and checks that it is valid.
  private func choice(
    _ change: OracleChange,
    _ records: ArraySlice<JudgedRecord>
  ) throws(JudgeFailure) -> OracleChoice {
    guard let first = records.first else { throw JudgeFailure("nothing was published") }
    guard first.partition == change.key.partition, first.key.hasSuffix(Array("/".utf8) + change.key.id) else {
      throw JudgeFailure("nothing was published, or not in order; the next record is\n\(first)")
    }
    guard let after = change.after else { return .delete }
    guard let before = change.before else { return .reload(reason: "initial") }
    let head = try document(first)
    let difference = OracleDifference(
      before: before,
      after: after,
      forced: change.forced,
      placements: change.placements
    )
    if head.last("mode")?.string == Array("reload".utf8) {
      let reason = String(decoding: head.last("reason")?.string ?? [], as: UTF8.self)
      let possible = possibleReasons(change, difference)
      guard possible.reasons.contains(reason) else {
        throw JudgeFailure(
          "a reload with reason \"\(reason)\", expected \(possible.reasons.map { $0 ?? "no reload" })\nfound \(first)"
        )
      }
      guard OracleWriter.isWeighed(reason) else { return .reload(reason: reason) }
      let weighing = try weighing(first)
      guard possible.weights.contains(weighing.weight), possible.bytes.contains(weighing.bytes) else {
        throw JudgeFailure(
          "\(weighing), expected a weight of \(possible.weights) and \(possible.bytes) bytes\nfound \(first)"
        )
      }
      let reloadBytes = writer.reloadBytes(change)
      guard writer.reason(change, difference, weighing, reloadBytes: reloadBytes) == reason else {
        throw JudgeFailure("the reason does not follow from \(weighing)\nfound \(first)")
      }
      return .reload(reason: reason, weighing)
    }
    let parts = head.last("parts").flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) } ?? 1
    var moves = OracleMoves()
    for record in records.prefix(max(1, parts)) {
      let part = try document(record)
      try read(part, "sections", into: &moves.sections, record)
      try read(part, "items", into: &moves.items, record)
    }
    if let complaint = difference.complaint(about: moves) {
      throw JudgeFailure("\(complaint)\nfound \(first)")
    }
    let units = difference.units(moves)
    let weighing = writer.weighing(change, units)
    let reloadBytes = writer.reloadBytes(change)
    if let reason = writer.reason(change, difference, weighing, reloadBytes: reloadBytes) {
      throw JudgeFailure(
        """
        a reload with reason "\(reason)" was expected (weight \(weighing.weight), \(weighing.bytes) bytes, \
        \(reloadBytes) as a reload)
        found \(first)
        """
      )
    }
    return .difference(moves)
  }

  /// The size of the difference, according to the header.
  private func weighing(_ record: JudgedRecord) throws(JudgeFailure) -> OracleWeighing {
    let plan = record.headers.first { $0.name == "feedstore.plan" }.flatMap {
      try? OracleJSON.parse($0.value)
    }
    func number(_ name: String) -> Int? {
      plan?.last(name).flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) }
    }
    guard let weight = number("weight"), let bytes = number("differenceBytes") else {
      throw JudgeFailure("the header feedstore.plan is missing or has no weight and bytes\nfound \(record)")
    }
    return OracleWeighing(weight: weight, bytes: bytes)
  }

  /// The possible outcomes of the planner over all valid sets of moves (nil for a difference), and the possible sizes
  /// of a difference.
  private func possibleReasons(
    _ change: OracleChange,
    _ difference: OracleDifference
  ) -> (reasons: [String?], weights: ClosedRange<Int>, bytes: ClosedRange<Int>) {
    let fixed = difference.units(OracleMoves(items: difference.crossings))
    var light = fixed
    var heavy = fixed
    for order in [difference.sectionOrder] + difference.itemOrders where order.most > 0 {
      let isSections = order.name == difference.sectionOrder.name
      let all = Set(order.elements)
      let candidates =
        isSections ? OracleMoves(sections: all) : OracleMoves(items: all)
      let entries = difference.units(candidates).filter { unit in
        unit.place == .entry(group: isSections ? "sections" : "items", list: "move")
      }
      let sorted = entries.sorted { $0.bytes.count < $1.bytes.count }
      light += sorted.prefix(order.fewest)
      heavy += sorted.suffix(order.most)
    }
    let (least, most) = (writer.weighing(change, light), writer.weighing(change, heavy))
    let reloadBytes = writer.reloadBytes(change)
    let weights = least.weight...most.weight
    var reasons: [String?] = []
    for weight in weights {
      for bytes in [least.bytes, most.bytes] {
        let weighing = OracleWeighing(weight: weight, bytes: bytes)
        let reason = writer.reason(change, difference, weighing, reloadBytes: reloadBytes)
        if !reasons.contains(reason) { reasons.append(reason) }
      }
    }
    return (reasons, weights, least.bytes...most.bytes)
  }

  private func document(_ record: JudgedRecord) throws(JudgeFailure) -> OracleJSON {
    guard let value = record.value else { throw JudgeFailure("a changeset was expected\nfound \(record)") }
    do {
      return try OracleJSON.parse(value, maxDepth: .max)
    } catch {
      throw JudgeFailure("the value is no JSON (\(error))\nfound \(record)")
    }
  }

  /// The ids that a document lists as moved.
  private func read(
    _ document: OracleJSON,
    _ group: String,
    into moved: inout Set<[UInt8]>,
    _ record: JudgedRecord
  ) throws(JudgeFailure) {
    for entry in document.last(group)?.last("move")?.elements ?? [] {
      guard let id = entry.last("id")?.string else {
        throw JudgeFailure("a move in \(group) has no id\nfound \(record)")
      }
      guard moved.insert(id).inserted else {
        throw JudgeFailure(
          "\(String(decoding: id, as: UTF8.self)) is moved twice in \(group)\nfound \(record)"
        )
      }
    }
  }
}

extension [UInt8] {
  fileprivate func hasSuffix(_ suffix: [UInt8]) -> Bool { self.suffix(suffix.count).elementsEqual(suffix) }
}

/// A record of the changesets topic, actual or expected.
public struct JudgedRecord: Sendable, Equatable, CustomStringConvertible {
  public var partition: Int
  public var key: [UInt8]
  /// nil for a Kafka null.
  public var value: [UInt8]?
  public var headers: [JudgedHeader]
  /// Milliseconds since 1970: the changeset's `time`.
  public var timestamp: Int

  public init(partition: Int, key: [UInt8], value: [UInt8]?, headers: [JudgedHeader], timestamp: Int) {
    self.partition = partition
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
  }

  /// Parses a line of a replay's output: topic, partition, offset, ts, headers, key and value, in that order and
  /// nothing else. The value is minified, so white space in it is not detected.
  public init(replayLine line: [UInt8]) throws(JudgeFailure) {
    guard let json = try? OracleJSON.parse(line), case .object(let members) = json.content,
      members.map({ String(decoding: $0.name, as: UTF8.self) })
        == ["topic", "partition", "offset", "ts", "headers", "key", "value"],
      let partition = Int(String(decoding: members[1].value.minified, as: UTF8.self)),
      let timestamp = Int(String(decoding: members[3].value.minified, as: UTF8.self)),
      let words = members[4].value.elements?.compactMap(\.string), words.count % 2 == 0,
      let key = members[5].value.string
    else { throw JudgeFailure("no record of a replay's output: \(String(decoding: line, as: UTF8.self))") }
    let value = members[6].value
    self.init(
      partition: partition,
      key: key,
      value: value.content == .null ? nil : value.minified,
      headers: stride(from: 0, to: words.count, by: 2).map { index in
        JudgedHeader(String(decoding: words[index], as: UTF8.self), words[index + 1])
      },
      timestamp: timestamp
    )
  }

  public var description: String {
    let list = headers.map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" }
    return """
      partition \(partition), timestamp \(timestamp), key \(String(decoding: key, as: UTF8.self))
        value \(value.map { String(decoding: $0, as: UTF8.self) } ?? "null")
        headers \(list.joined(separator: "; "))
      """
  }
}

/// A header of an output record.
public struct JudgedHeader: Sendable, Equatable {
  public var name: String
  public var value: [UInt8]

  public init(_ name: String, _ value: [UInt8]) {
    self.name = name
    self.value = value
  }

  public init(_ name: String, _ value: String) {
    self.init(name, Array(value.utf8))
  }
}

/// A difference that the judge found: what was expected and what was found.
public struct JudgeFailure: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}
