import Changesets
import Kafka

/// A partition that is followed on standby.
struct StandbyPartition {
  let changesets: ReadPartition
  /// Whether the client reads it. What comes of it otherwise was asked for before it came here.
  var isOpen = false
  /// Whether everything that the brokers had of it was read.
  var isAtEnd = false
  /// Whatever comes next was written after this time, in milliseconds of the monotonic clock.
  var asOf: Int64

  init(_ changesets: ReadPartition, at now: Int64) {
    self.changesets = changesets
    asOf = now
  }

  /// Whether a restoration can go on from it.
  ///
  /// - Parameters:
  ///   - ends: where the partition begins and ends now.
  ///   - lastIdle: a time at which everything that the brokers had was read.
  func isUsable(within ends: Watermarks, at now: Int64, lastIdle: Int64) -> Bool {
    FollowedPosition(offset: changesets.position, asOf: latestTime(lastIdle: lastIdle)).isUsable(
      within: ends,
      at: now
    )
  }

  /// ``asOf``, or the time at which the brokers had nothing more, if that is later.
  func latestTime(lastIdle: Int64) -> Int64 { isAtEnd ? max(asOf, lastIdle) : asOf }
}
