/// The latest published version of a feed, and the keys of its records on the compacted topic.
public struct PublishedVersion: Sendable, Equatable {
  /// The record that created the feed, and when it was taken: `topic:milliseconds/offset`.
  public var epoch: [UInt8]
  /// Published changesets of this epoch, from 1.
  public var revision: UInt64
  /// For each input topic, sorted by name, the newest record taken.
  public var through: [TopicOffset]
  /// Delta records since the last reload.
  public var deltaCount = 0
  /// Bytes of their values.
  public var deltaBytes = 0
  /// Bytes of the last reload's values.
  public var reloadBytes = 0
  /// Parts of the last reload: keys `k0…` that hold a value.
  public var reloadParts = 0
  /// The largest delta number that the epoch used: keys `d1…` that hold a value.
  public var highestDelta = 0

  public init(epoch: [UInt8], revision: UInt64, through: [TopicOffset]) {
    self.epoch = epoch
    self.revision = revision
    self.through = through
  }
}
