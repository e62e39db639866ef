/// A partition that is followed on standby.
struct StandbyPartition {
  let changesets: ChangesetPartition
  /// Whether the client reads it. What comes of it otherwise was asked for before it came here.
  var isOpen = false
  /// Whether everything that the brokers had of it was read.
  var isAtEnd = false
  /// Whatever comes next was written after this time, in milliseconds of the monotonic clock.
  var asOf: Int64

  /// How old what is known may be. A deletion is published with nulls, which compaction removes after `delete.retention.ms`:
  /// whoever reads on later would keep feeds that are gone. The topic needs at least an hour, and what is left has to be read.
  private static let maximumAgeMilliseconds: Int64 = 30 * 60_000

  init(_ changesets: ChangesetPartition, at now: Int64) {
    self.changesets = changesets
    asOf = now
  }

  /// Whether a restoration can go on from it.
  ///
  /// - Parameters:
  ///   - low: where the partition begins.
  ///   - high: where it ends; the topic was truncated or recreated if that is before what was read.
  ///   - lastIdle: a time at which everything that the brokers had was read.
  func isUsable(from low: Int64, to high: Int64, at now: Int64, lastIdle: Int64) -> Bool {
    guard (low...max(low, high)).contains(changesets.position) else { return false }
    return now - latestTime(lastIdle: lastIdle) <= Self.maximumAgeMilliseconds
  }

  /// ``asOf``, or the time at which the brokers had nothing more, if that is later.
  func latestTime(lastIdle: Int64) -> Int64 { isAtEnd ? max(asOf, lastIdle) : asOf }
}
