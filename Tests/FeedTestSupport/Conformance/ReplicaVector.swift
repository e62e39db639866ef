import Foundation

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

  /// What `run.py` compares.
  func answers() -> [[UInt8]] {
    var follower = OracleFollower()
    return log.lines.map { line in
      let outcome = follower.take(partition: line.partition, key: line.key, value: line.value)
      guard let feed = outcome.feed else { return [] }
      let replica = follower.replicas[feed] ?? OracleFollower.Replica()
      let state = replica.state.map { [replica.epoch, Array("\(replica.revision)".utf8), $0.sectionsText] }
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
      if outcome.isChanged { text.addField("sections", json: state.sectionsText) }
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
