package import Kafka

/// Follows partitions of the changesets topic besides the workers of this process, and exchanges them with the workers.
///
/// Workers call it on their threads.
package protocol PartitionFollower: AnyObject, Sendable {
  /// What is followed.
  var figures: StandbyFigures { get }

  /// A worker has restored its first assignment, and knows the topics: from now on, partitions of others may be followed.
  ///
  /// - Parameter count: the number of partitions.
  func begin(partitions count: Int32)
  /// A worker restores a partition, and owns it until it gives it back.
  ///
  /// - Parameter ends: where the partition begins and ends now.
  /// - Returns: what was followed of it; nil if a restoration cannot continue from there.
  func take(_ number: Int32, within ends: Watermarks) -> sending ReadPartition?
  /// A worker has read a partition to its end, and is about to hand its feeds to the store.
  func noteRestored(_ partition: ReadPartition)
  /// A partition that a worker owns cannot be restored.
  func noteStopped(_ number: Int32)
  /// Whether ``giveBack(_:_:)`` needs the feeds that a worker has of a partition.
  func needsState(of number: Int32) -> Bool
  /// A worker has given up a partition.
  ///
  /// - Parameter partition: what it has read or published; nil if that is not needed, or is not the published state.
  func giveBack(_ number: Int32, _ partition: sending ReadPartition?)
}

/// How far a partition was followed.
package struct FollowedPosition {
  /// Everything before it was read.
  package let offset: Int64
  /// Records from there on were written after this time, in milliseconds of the monotonic clock.
  package let asOf: Int64

  /// The maximum age. A deletion is published with nulls, which compaction removes after `delete.retention.ms`: a reader that
  /// continues later would keep deleted feeds. The topic needs at least an hour, and the rest has to be read.
  private static let maximumAgeMilliseconds: Int64 = 30 * 60_000

  package init(offset: Int64, asOf: Int64) {
    self.offset = offset
    self.asOf = asOf
  }

  /// Whether a restoration can continue from there.
  ///
  /// - Parameter ends: where the partition begins and ends now. If the offset is not between them, the partition was truncated
  ///   or recreated.
  package func isUsable(within ends: Watermarks, at now: Int64) -> Bool {
    ends.low <= offset && offset <= max(ends.low, ends.high) && now - asOf <= Self.maximumAgeMilliseconds
  }
}
