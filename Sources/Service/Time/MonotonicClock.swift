import Glibc

/// A monotonic clock for durations and deadlines. Its zero is arbitrary (the machine's boot).
public enum MonotonicClock {
  /// Nanoseconds since the clock's zero.
  public static func nanoseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }

  /// Milliseconds since the clock's zero, rounded down.
  public static func milliseconds() -> Int64 {
    nanoseconds() / 1_000_000
  }

  /// The same, up to some milliseconds old, at a fraction of the cost; for checks before every record.
  public static func coarseMilliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
    return Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
  }
}
