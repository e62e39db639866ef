public import FeedTestSupport

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
