/// When the group has to be polled again, although the worker has other things to do.
///
/// A member that does not poll within `max.poll.interval.ms` is put out of the group. A third of that leaves time for
/// what cannot be interrupted; a second lets the others of the group, which wait in a rebalance, wait no longer.
struct PollSchedule: Equatable {
  /// Milliseconds between two polls, at most.
  let intervalMilliseconds: Int64
  /// How long a call between two polls may take that cannot be interrupted, in milliseconds.
  let longestCall: Int32
  /// When the next poll is due, in milliseconds of the monotonic clock.
  private(set) var dueTime: Int64 = 0

  static let longestMilliseconds: Int64 = 1_000

  /// - Parameter maxPollMilliseconds: `max.poll.interval.ms`.
  init(maxPollMilliseconds: Int64) {
    intervalMilliseconds = min(Self.longestMilliseconds, max(1, maxPollMilliseconds / 3))
    longestCall = Int32(clamping: max(Self.longestMilliseconds, maxPollMilliseconds / 3))
  }

  func isDue(at now: Int64) -> Bool { now >= dueTime }

  /// The group was polled.
  mutating func poll(at now: Int64) { dueTime = now + intervalMilliseconds }
}
