import Glibc

/// A clock that never goes back, for durations and deadlines. Its zero is arbitrary (the machine's start).
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

  /// The same as it was up to some milliseconds ago, at a fraction of the cost: for a look at every record.
  public static func coarseMilliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
    return Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
  }
}
