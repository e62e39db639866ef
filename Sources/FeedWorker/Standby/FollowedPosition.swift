package import Kafka

/// How far a partition was followed.
package struct FollowedPosition {
  /// Everything before this offset was read.
  package let offset: Int64
  /// Whatever comes next was written after this time, in milliseconds of the monotonic clock.
  package let asOf: Int64

  /// How old what is known may be. A deletion is published with nulls, which compaction removes after `delete.retention.ms`:
  /// whoever reads on later would keep feeds that are gone. The topic needs at least an hour, and what is left has to be read.
  private static let maximumAgeMilliseconds: Int64 = 30 * 60_000

  package init(offset: Int64, asOf: Int64) {
    self.offset = offset
    self.asOf = asOf
  }

  /// Whether a restoration can continue from there.
  ///
  /// - Parameter ends: where the partition begins and ends now; it was truncated or recreated if that is not around the offset.
  package func isUsable(within ends: Watermarks, at now: Int64) -> Bool {
    ends.low <= offset && offset <= max(ends.low, ends.high) && now - asOf <= Self.maximumAgeMilliseconds
  }
}
