public import Feed

/// What was verified, in numbers.
public struct VerificationCounts: Sendable, Equatable {
  public var records = 0
  /// Bytes of keys and values.
  public var bytes = 0
  public var nulls = 0
  /// Changesets, each counted once however many parts it has; keyframes are not among them.
  public var changesets: [ChangesetMode: Int] = [:]
  public var keyframes = 0
  /// Records of feeds of which a fault is known already: they were not looked at.
  public var recordsPassedOver = 0
  /// Feeds with a fault.
  public var faultyFeeds = 0
  /// Feeds that are there at the end, those with a fault not counted.
  public var feeds = 0

  public init() {}

  mutating func add(_ other: VerificationCounts) {
    records += other.records
    bytes += other.bytes
    nulls += other.nulls
    changesets.merge(other.changesets) { $0 + $1 }
    keyframes += other.keyframes
    recordsPassedOver += other.recordsPassedOver
    faultyFeeds += other.faultyFeeds
    feeds += other.feeds
  }
}
