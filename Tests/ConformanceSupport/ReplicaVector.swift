import Foundation

@testable public import Oracle

/// A conformance vector for followers: records, and the expected state after each.
public struct ReplicaVector: Sendable {
  public let name: String
  public let title: String
  /// The sections of the protocol that it covers.
  public let sections: [String]
  public let log: ChangesetLog

  init(_ name: String, _ title: String, _ sections: [String], _ log: ChangesetLog) {
    self.name = name
    self.title = title
    self.sections = sections
    self.log = log
  }

  /// A line for each record, with the expected state after it under `then`.
  ///
  /// - Parameter truth: the states that the store published, by partition, feed, epoch and revision; nil if the damaged
  ///   log describes another state.
  func text(truth: [String: OracleFeed]?) throws(JudgeFailure) -> [UInt8] {
    var follower = OracleFollower()
    var lines: [[UInt8]] = []
    for line in log.lines {
      let outcome = follower.take(partition: line.partition, key: line.key, value: line.value)
      var text = OracleText()
      text.add("{\"partition\":\(line.partition),\"offset\":\(line.offset),")
      text.add(Self.bytes("key", line.key))
      text.add(",")
      text.add(line.value.map { Self.bytes("payload", $0) } ?? Array("\"payload\":null".utf8))
      text.add(",\"then\":")
      text.add(try then(outcome, follower, truth))
      text.add("}")
      lines.append(text.bytes)
    }
    return StoreVector.lines(lines)
  }

  /// The same, a vector for each id of a feed.
  var feeds: [ReplicaVector] {
    var logs: [[UInt8]: [ChangesetLog.Line]] = [:]
    for line in log.lines { logs[OracleFollower.parse(line.key)?.feed ?? [], default: []].append(line) }
    return logs.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      ReplicaVector(name, title, sections, ChangesetLog($0.value))
    }
  }

  /// What `run.py` compares.
  func answers() -> [[UInt8]] {
    var follower = OracleFollower()
    return log.lines.map { line in
      let outcome = follower.take(partition: line.partition, key: line.key, value: line.value)
      guard let feed = outcome.feed else { return [] }
      let replica = follower.replicas[feed] ?? OracleFollower.Replica()
      let state = replica.state.map {
        [replica.epoch, Array("\(replica.revision)".utf8), $0.withoutEnds.sectionsText]
      }
      return Array("\(replica.isStale) \(replica.isWaiting) ".utf8) + (state ?? []).joined(separator: [0])
    }
  }

  private func then(
    _ outcome: OracleFollower.Outcome,
    _ follower: OracleFollower,
    _ truth: [String: OracleFeed]?
  ) throws(JudgeFailure) -> [UInt8] {
    guard let feed = outcome.feed else { return Array("null".utf8) }
    let replica = follower.replicas[feed] ?? OracleFollower.Replica()
    var text = OracleText()
    text.add("{")
    text.addField("feed", string: feed.id, isFirst: true)
    if outcome.isRefused { text.add(",\"refused\":true") }
    text.add(",\"stale\":\(replica.isStale),\"waiting\":\(replica.isWaiting)")
    if let state = replica.state {
      let name = Self.name(feed, String(decoding: replica.epoch, as: UTF8.self), replica.revision)
      if let truth, truth[name] != state {
        throw JudgeFailure("\(self.name): \(name) is not what was published")
      }
      text.addField("epoch", string: replica.epoch)
      text.addField("revision", number: replica.revision)
      text.addField("checksum", string: replica.checksum)
      if outcome.isChanged { text.addField("sections", json: state.withoutEnds.sectionsText) }
    } else {
      text.add(",\"epoch\":null")
    }
    text.add("}")
    return text.bytes
  }

  static func name(_ feed: OracleFeedKey, _ epoch: String, _ revision: Int) -> String {
    "\(feed.partition) \(String(decoding: feed.id, as: UTF8.self)) \(epoch) \(revision)"
  }

  /// A member with bytes, as text or as base64 if they are not UTF-8.
  static func bytes(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
    var text = OracleText()
    if OracleUTF8.isValid(bytes) {
      text.addField(name, string: bytes, isFirst: true)
    } else {
      text.addField("\(name)Base64", string: Array(Data(bytes).base64EncodedString().utf8), isFirst: true)
    }
    return text.bytes
  }
}

/// Records of the changesets topic in the order in which a follower reads them.
public struct ChangesetLog: Sendable {
  public struct Line: Sendable {
    public var partition: Int
    /// The record's offset in the original log.
    public var offset: Int
    public var key: [UInt8]
    public var value: [UInt8]?
  }

  public var lines: [Line]

  init(_ lines: [Line]) { self.lines = lines }

  /// The records that a store wrote.
  public init(_ records: [JudgedRecord]) {
    var offsets: [Int: Int] = [:]
    lines = records.map { record in
      defer { offsets[record.partition, default: 0] += 1 }
      let offset = offsets[record.partition, default: 0]
      return Line(partition: record.partition, offset: offset, key: record.key, value: record.value)
    }
  }

  // MARK: - Variants of a log

  /// The log after compaction of the first `count` records: the last record of each key, optionally without nulls.
  func compacted(first count: Int, keepsNulls: Bool = true) -> ChangesetLog {
    let head = lines.prefix(count)
    var last: [[UInt8]: Int] = [:]
    for (place, line) in head.enumerated() { last[Array("\(line.partition)/".utf8) + line.key] = place }
    let kept = head.enumerated().filter { place, line in
      last[Array("\(line.partition)/".utf8) + line.key] == place && (keepsNulls || line.value != nil)
    }
    return ChangesetLog(kept.map(\.element) + lines.dropFirst(count))
  }

  /// What a follower reads that has read `read` records before the first `count` are compacted.
  func lagging(read: Int, compacted count: Int) -> ChangesetLog {
    let rest = compacted(first: count).lines.filter { line in
      lines.firstIndex { $0.partition == line.partition && $0.offset == line.offset } ?? 0 >= read
    }
    return ChangesetLog(lines.prefix(read) + rest)
  }

  /// The log without the records at these positions.
  func without(_ places: some Sequence<Int>) -> ChangesetLog {
    ChangesetLog(lines.enumerated().filter { !places.contains($0.offset) }.map(\.element))
  }

  subscript(places: Int...) -> ChangesetLog { ChangesetLog(places.map { lines[$0] }) }

  subscript(places: some RangeExpression<Int>) -> ChangesetLog { ChangesetLog(Array(lines[places])) }

  static func + (one: ChangesetLog, other: ChangesetLog) -> ChangesetLog {
    ChangesetLog(one.lines + other.lines)
  }

  func swapping(_ one: Int, _ other: Int) -> ChangesetLog {
    var log = self
    log.lines.swapAt(one, other)
    return log
  }

  /// The log with other text in one record's value.
  ///
  /// - Throws: ``JudgeFailure`` unless the value contains the text exactly once.
  func replacing(_ text: String, with other: String, at place: Int) throws(JudgeFailure) -> ChangesetLog {
    let value = String(decoding: lines[place].value ?? [], as: UTF8.self)
    let pieces = value.split(separator: text, omittingEmptySubsequences: false)
    guard pieces.count == 2 else {
      throw JudgeFailure("record \(place) has \(pieces.count - 1) times \(text), expected once: \(value)")
    }
    return with(value: Array(pieces.joined(separator: other).utf8), at: place)
  }

  func with(value: [UInt8]?, at place: Int) -> ChangesetLog {
    var log = self
    log.lines[place].value = value
    return log
  }

  func with(key: String, at place: Int) -> ChangesetLog {
    var log = self
    log.lines[place].key = Array(key.utf8)
    return log
  }
}
