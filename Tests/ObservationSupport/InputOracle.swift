public import Oracle

/// The oracle's result for the input, read from the topics partition by partition, in order.
public struct InputOracle: Sendable {
  public private(set) var feeds: [OracleFeedKey: OracleFeed] = [:]
  /// Rejected records; a caller may add records of other topics.
  public var rejected: [Observation.Source: Observation.Rejected] = [:]
  public private(set) var records = 0
  /// The checksum of a feed after each of its records, by the records' positions.
  private var checksums: [OracleFeedKey: [Place: String]] = [:]

  private struct Place: Hashable {
    var topic: String
    var offset: Int
  }

  /// - Parameters:
  ///   - records: the whole input. No feed is in both topics, so their relative order does not matter.
  ///   - contents: all records of the contents topic. As the feeds show the newest contents at the end, these come first.
  public init(_ records: [TopicRecord], contents: [TopicRecord] = [], contentsTopic: String? = nil) {
    var oracle = Oracle(contentsTopic: contentsTopic)
    for content in contents { _ = oracle.apply(content.oracleRecord) }
    for record in records { take(record.oracleRecord, &oracle) }
    for key in oracle.feedKeys { feeds[key] = oracle.current(key) }
  }

  private mutating func take(_ record: OracleRecord, _ oracle: inout Oracle) {
    records += 1
    if case .rejected(let rejection) = oracle.apply(record) {
      let source = Observation.Source(
        topic: record.topic,
        partition: record.partition,
        offset: record.offset
      )
      rejected[source] = Observation.Rejected(
        code: rejection.code.rawValue,
        key: record.key,
        value: record.value
      )
    } else if let id = record.key {
      let key = OracleFeedKey(partition: record.partition, id: id)
      let checksum = OracleChecksum.text(oracle.current(key).map(OracleChecksum.of) ?? 0)
      checksums[key, default: [:]][Place(topic: record.topic, offset: record.offset)] = checksum
    }
  }

  /// What is wrong with the observed output; empty if nothing is.
  public func complaints(about observation: Observation) -> [String] {
    var complaints = observation.violations
    complaints += observation.claims.compactMap { complaint(about: $0) }
    complaints += self.complaints(about: observation.feeds.mapValues(\.feed))
    for (source, record) in rejected where observation.rejected[source] != record {
      let found = observation.rejected[source].map { "rejected as \($0.code)" } ?? "not rejected"
      complaints.append("\(source) is \(found), expected \(record.code), key and value unchanged")
    }
    for source in observation.rejected.keys where rejected[source] == nil {
      complaints.append("\(source) was rejected, and should not have been")
    }
    return complaints
  }

  /// Compares the final feeds.
  public func complaints(about found: [OracleFeedKey: OracleFeed]) -> [String] {
    Set(feeds.keys).union(found.keys).sorted().compactMap { key in
      if comparable(feeds[key], key) == comparable(found[key], key) { return nil }
      let expected = feeds[key].map { "\($0.itemCount) items" } ?? "none"
      let actual = found[key].map { "\($0.itemCount) items" } ?? "none"
      return "\(name(key)) is not what the input comes to: \(actual), expected \(expected)"
    }
  }

  /// A feed without the items whose end depends on the clock: those that begin with "t".
  private func comparable(_ feed: OracleFeed?, _ key: OracleFeedKey) -> OracleFeed? {
    guard var feed, key.id.starts(with: "ending".utf8) else { return feed }
    for place in feed.sections.indices {
      if feed.sections[place].ttl != nil { feed.sections[place].ttl = 0 }
      feed.sections[place].items.removeAll { $0.id.first == UInt8(ascii: "t") }
    }
    return feed
  }

  /// Whether a changeset's claim matches the feed after the records it covers.
  public func complaint(about claim: ObservedClaim) -> String? {
    guard claim.through.count == 1, let (topic, offset) = claim.through.first else {
      return "\(name(claim.key)) has records of \(claim.through.count) topics"
    }
    let expected = checksums[claim.key]?[Place(topic: topic, offset: offset)]
    // The clock decides which items have ended, and which contents are shown.
    let isTimed = ["ending", "sharing"].contains { claim.key.id.starts(with: $0.utf8) }
    if expected == claim.checksum || isTimed { return nil }
    return """
      \(name(claim.key)) through \(topic)/\(offset) has checksum \(claim.checksum), \
      expected \(expected ?? "no changeset")
      """
  }

  private func name(_ key: OracleFeedKey) -> String {
    "feed \(String(decoding: key.id, as: UTF8.self).debugDescription) of partition \(key.partition)"
  }
}

/// A replica that reads the changesets topic from its beginning to its end, by the protocol's rules for replicas:
/// compacted records may be missing.
public struct LateJoiner: Sendable {
  public private(set) var feeds: [OracleFeedKey: ObservedFeed] = [:]
  public private(set) var records = 0
  /// Feeds with a gap, whose deltas are skipped until the next reload.
  private var stale: Set<OracleFeedKey> = []

  public init() {}

  /// The end of the topic: every gap must have been closed by a later reload.
  public func finish() throws(BrokerFailure) {
    try BrokerFailure.check(stale.isEmpty, "\(stale.count) feeds have a gap at the end")
  }

  public var claims: [ObservedClaim] {
    feeds.map { key, feed in
      let checksum = OracleChecksum.text(OracleChecksum.of(feed.feed))
      return ObservedClaim(key: key, through: feed.through, checksum: checksum)
    }
  }

  /// Applies the next record.
  public mutating func take(_ record: TopicRecord) throws {
    records += 1
    let head = try ChangesetHead(record)
    guard let json = head.json else {
      if head.slot == "k0" { remove(head.key) }
      return
    }
    let known = feeds[head.key].flatMap { $0.epoch == head.epoch ? $0 : nil }
    switch head.mode {
    case "delete":
      if known != nil { remove(head.key) }
    case "reload":
      if let known, !stale.contains(head.key), head.revision <= known.revision { return }
      try set(head, json, nil)
    default:
      guard let known else { return }
      if head.revision <= known.revision { return }
      if head.base == known.revision, !stale.contains(head.key) {
        try set(head, json, known.feed)
      } else {
        stale.insert(head.key)
      }
    }
  }

  private mutating func remove(_ key: OracleFeedKey) {
    feeds[key] = nil
    stale.remove(key)
  }

  private mutating func set(_ head: ChangesetHead, _ json: OracleJSON, _ base: OracleFeed?) throws {
    try BrokerFailure.check(head.parts == 1, "a changeset in parts")
    guard let feed = try NaiveReplica.apply([json], to: base) else { return }
    let checksum = OracleChecksum.text(OracleChecksum.of(feed))
    try BrokerFailure.check(checksum == head.checksum, "revision \(head.revision) has another checksum")
    stale.remove(head.key)
    feeds[head.key] = ObservedFeed(
      feed: feed,
      epoch: head.epoch,
      revision: head.revision,
      through: head.through
    )
  }
}
