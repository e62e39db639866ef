/// The time that the coalescing window counts in.
public enum TimeSource: Sendable {
  /// The records' own timestamps, as in a replay.
  case records
  /// The caller's clock, in milliseconds.
  case clock(Int64)
}
