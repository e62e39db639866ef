/// The clock of the coalescing window.
public enum TimeSource: Sendable {
  /// The records' own timestamps, as in a replay.
  case records
  /// The caller's clock, in milliseconds.
  case clock(Int64)
}
