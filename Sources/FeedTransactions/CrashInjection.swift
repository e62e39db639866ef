import Glibc
import Synchronization

/// Ends the process without warning at a named point, to test recovery.
///
/// Set by the environment variable `FEEDSTORE_CRASH_AT`: `POINT`, or `POINT:N` for its N-th time.
package final class CrashInjection: Sendable {
  /// A point at which the process can end.
  package enum Point: String, Sendable, CaseIterable {
    /// A transaction was begun.
    case afterBegin = "after-begin"
    /// A changeset record was queued.
    case afterProduce = "after-produce"
    /// A record of a keyframe was queued.
    case inKeyframe = "in-keyframe"
    case beforeOffsets = "before-offsets"
    /// The transaction includes the offsets.
    case afterOffsets = "after-offsets"
    /// The commit was requested, and may have happened.
    case inCommit = "in-commit"
    case afterCommit = "after-commit"
    /// Feeds of a partition were read, but are not in the store yet.
    case inRestore = "in-restore"
  }

  private let point: Point
  private let times: Int
  private let end: @Sendable () -> Void
  private let reached = Atomic<Int>(0)

  /// - Parameters:
  ///   - text: the value of the environment variable.
  ///   - end: ends the process; by default, the process kills itself.
  /// - Returns: nil if the text names no point.
  package init?(_ text: String, end: @escaping @Sendable () -> Void = { kill(getpid(), SIGKILL) }) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let point = parts.first.flatMap({ Point(rawValue: String($0)) }) else { return nil }
    let times = parts.count == 2 ? Int(parts[1]) : 1
    guard let times, times > 0 else { return nil }
    self.point = point
    self.times = times
    self.end = end
  }

  package func reach(_ point: Point) {
    guard point == self.point else { return }
    if reached.add(1, ordering: .relaxed).newValue == times { end() }
  }

  /// Whether the process ends the next time that it reaches a point.
  func isNext(_ point: Point) -> Bool {
    point == self.point && reached.load(ordering: .relaxed) + 1 == times
  }
}
