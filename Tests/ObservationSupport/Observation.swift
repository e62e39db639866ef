public import Kafka
public import Oracle

/// The output observed so far, and what was wrong with it.
///
/// It expects every record: revisions without gaps or repetitions, each with the checksum of the resulting state, and
/// each for records that the previous one did not cover.
public struct Observation: Sendable {
  /// The origin of a rejected record.
  public struct Source: Sendable, Hashable {
    public var topic: String
    public var partition: Int
    public var offset: Int

    public init(topic: String, partition: Int, offset: Int) {
      self.topic = topic
      self.partition = partition
      self.offset = offset
    }
  }

  public struct Rejected: Sendable, Equatable {
    public var code: String
    public var key: [UInt8]?
    public var value: [UInt8]?

    public init(code: String, key: [UInt8]?, value: [UInt8]?) {
      self.code = code
      self.key = key
      self.value = value
    }
  }

  public init() {}

  public private(set) var feeds: [OracleFeedKey: ObservedFeed] = [:]
  public private(set) var claims: [ObservedClaim] = []
  public private(set) var rejected: [Source: Rejected] = [:]
  private var rejectedPlaces: [Source: String] = [:]
  public private(set) var violations: [String] = []
  /// The next offset of each partition.
  public var positions: [TopicPartition: Int64] = [:]
  /// The number of records, including rejected ones and nulls.
  public private(set) var records = 0
  /// The number of records without nulls, by publisher (`ce_source`).
  public private(set) var published: [String: Int] = [:]
  /// The same by partition.
  public private(set) var publishedByPartition: [Int32: Int] = [:]
  /// Who published last, by partition.
  public private(set) var lastSource: [Int32: String] = [:]
  /// The number of deleted feeds, and of new epochs.
  public private(set) var deletions = 0
  public private(set) var epochs = 0
  /// The newest epoch of each feed, by the offset in its name.
  private var newestEpoch: [OracleFeedKey: Int] = [:]
  private var parts: [OracleFeedKey: [OracleJSON]] = [:]

  /// - Parameter changesets: the name of the changesets topic; records of others are rejected ones.
  public mutating func take(_ record: TopicRecord, changesets: String) {
    if record.topic == changesets { takeChangeset(record) } else { takeRejected(record) }
  }

  private mutating func takeChangeset(_ record: TopicRecord) {
    records += 1
    if record.value != nil, let source = record.headers["ce_source"] {
      published[source, default: 0] += 1
      publishedByPartition[record.partition, default: 0] += 1
      lastSource[record.partition] = source
    }
    do throws(BrokerFailure) {
      let head = try ChangesetHead(record)
      if let json = head.json { try take(head, json) } else { try takeNull(head) }
    } catch {
      let key = String(decoding: record.key ?? [], as: UTF8.self).debugDescription
      violations.append("partition \(record.partition), offset \(record.offset), key \(key): \(error)")
    }
  }

  private func takeNull(_ head: ChangesetHead) throws(BrokerFailure) {
    let isGone = feeds[head.key] == nil || head.slot.hasPrefix("k") && head.slot != "k0"
    try BrokerFailure.check(isGone, "a null of a feed that was not deleted")
  }

  private mutating func take(_ head: ChangesetHead, _ json: OracleJSON) throws(BrokerFailure) {
    parts[head.key, default: []].append(json)
    let parts = parts[head.key] ?? []
    try BrokerFailure.check(parts.count == head.part + 1, "part \(head.part) after \(parts.count - 1)")
    guard parts.count == head.parts else { return }
    self.parts[head.key] = nil
    let known = feeds[head.key]
    if head.isKeyframe {
      try checkKeyframe(head, parts, known)
      return
    }
    let name = "revision \(head.revision) of epoch \(head.epoch) on base \(head.base)"
    if let known {
      try BrokerFailure.check(
        head.epoch == known.epoch && head.base == known.revision && head.revision == head.base + 1,
        "\(name) after revision \(known.revision) of epoch \(known.epoch)"
      )
      // Items end, and contents change, without a record of the feed.
      let changesAlone =
        head.mode != "delete"
        && known.feed.sections.contains { $0.items.contains { $0.expires != nil || !$0.refs.isEmpty } }
      let isNewer = changesAlone || head.through.contains { $0.value > known.through[$0.key] ?? -1 }
      try BrokerFailure.check(isNewer, "\(name) covers nothing new: \(head.through) after \(known.through)")
    } else {
      try BrokerFailure.check(
        head.revision == 1 && head.base == 0 && head.reason == "initial",
        "\(name), mode \(head.mode), of a feed that is not there"
      )
      let newest = newestEpoch[head.key] ?? -1
      try BrokerFailure.check(head.epochOffset > newest, "epoch \(head.epoch) after one of offset \(newest)")
      newestEpoch[head.key] = head.epochOffset
      epochs += 1
    }
    let feed = try apply(parts, to: known?.feed)
    try checkChecksum(head, feed)
    claims.append(ObservedClaim(key: head.key, through: head.through, checksum: head.checksum))
    if feed == nil { deletions += 1 }
    feeds[head.key] = feed.map {
      ObservedFeed(feed: $0, epoch: head.epoch, revision: head.revision, through: head.through)
    }
  }

  private func checkKeyframe(
    _ head: ChangesetHead,
    _ parts: [OracleJSON],
    _ known: ObservedFeed?
  ) throws(BrokerFailure) {
    let isInPlace =
      head.epoch == known?.epoch && head.revision == known?.revision && head.base == head.revision
      && head.through == known?.through
    try BrokerFailure.check(isInPlace, "a keyframe of revision \(head.revision), epoch \(head.epoch)")
    let feed = try apply(parts, to: nil)
    try BrokerFailure.check(feed == known?.feed, "a keyframe of another state")
    try checkChecksum(head, feed)
  }

  private func apply(_ parts: [OracleJSON], to feed: OracleFeed?) throws(BrokerFailure) -> OracleFeed? {
    do throws(JudgeFailure) {
      return try NaiveReplica.apply(parts, to: feed)
    } catch {
      throw BrokerFailure(error.description)
    }
  }

  private func checkChecksum(_ head: ChangesetHead, _ feed: OracleFeed?) throws(BrokerFailure) {
    let checksum = OracleChecksum.text(feed.map(OracleChecksum.of) ?? 0)
    try BrokerFailure.check(
      checksum == head.checksum,
      "revision \(head.revision) has checksum \(head.checksum), its state \(checksum)"
    )
  }

  private mutating func takeRejected(_ record: TopicRecord) {
    records += 1
    func number(_ name: String) -> Int { record.headers[name].flatMap { Int($0) } ?? -1 }
    let source = Source(
      topic: record.headers["feedstore.source.topic"] ?? "",
      partition: number("feedstore.source.partition"),
      offset: number("feedstore.source.offset")
    )
    let place = "offset \(record.offset) of partition \(record.partition)"
    if let earlier = rejectedPlaces.updateValue(place, forKey: source) {
      violations.append("\(source) was rejected twice, at \(earlier) and at \(place)")
    }
    let code = record.headers["feedstore.error.code"] ?? ""
    rejected[source] = Rejected(code: code, key: record.key, value: record.value)
  }
}

/// A feed as a follower of the changesets topic sees it.
public struct ObservedFeed: Sendable {
  public var feed: OracleFeed
  public var epoch: String
  public var revision: Int
  public var through: [String: Int]

  public init(feed: OracleFeed, epoch: String, revision: Int, through: [String: Int]) {
    self.feed = feed
    self.epoch = epoch
    self.revision = revision
    self.through = through
  }
}

/// A changeset's claim about a feed after an input record, to compare with the oracle.
public struct ObservedClaim: Sendable, Hashable {
  public let key: OracleFeedKey
  public let through: [String: Int]
  public let checksum: String

  public init(key: OracleFeedKey, through: [String: Int], checksum: String) {
    self.key = key
    self.through = through
    self.checksum = checksum
  }
}

/// A failure of a run on a cluster.
public struct BrokerFailure: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }

  /// Throws unless a condition holds. Unlike `#expect`, it ends the run, and the message then names the log files.
  public static func check(_ condition: Bool, _ description: @autoclosure () -> String) throws(BrokerFailure)
  {
    if !condition { throw BrokerFailure(description()) }
  }
}
