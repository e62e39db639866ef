/// The expected output of one flush.
public struct OracleFlush: Sendable, Equatable {
  /// Ordered by partition, then by the feed id's bytes.
  public let changes: [OracleChange]
  /// In the order of the input.
  public let rejected: [OracleRejected]
  /// The number of records in the window, including rejected ones.
  public let recordCount: Int

  public init(changes: [OracleChange], rejected: [OracleRejected] = [], recordCount: Int = 0) {
    self.changes = changes
    self.rejected = rejected
    self.recordCount = recordCount
  }
}

/// The expected change of one feed in a flush.
public struct OracleChange: Sendable, Equatable {
  public let key: OracleFeedKey
  public let epoch: String
  public let revision: Int
  /// The previous revision; 0 for the first of the epoch.
  public let base: Int
  /// Milliseconds since 1970.
  public let time: Int
  public let through: [String: Int]
  /// The previously published state; nil if there is none.
  public let before: OracleFeed?
  /// The state to publish; nil if the feed was deleted.
  public let after: OracleFeed?
  public let forced: OracleForced
  public let placements: OraclePlacements
  /// For each partition of the contents topic, the newest record before the flush.
  public var contents: [Int: Int]

  public init(
    key: OracleFeedKey,
    epoch: String,
    revision: Int,
    base: Int,
    time: Int,
    through: [String: Int],
    before: OracleFeed?,
    after: OracleFeed?,
    forced: OracleForced = OracleForced(),
    placements: OraclePlacements = OraclePlacements(),
    contents: [Int: Int] = [:]
  ) {
    self.contents = contents
    self.key = key
    self.epoch = epoch
    self.revision = revision
    self.base = base
    self.time = time
    self.through = through
    self.before = before
    self.after = after
    self.forced = forced
    self.placements = placements
  }
}
