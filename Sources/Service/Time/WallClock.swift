import Glibc

/// The time of day, which may jump when the machine's clock is set. For timestamps, not for durations.
public enum WallClock {
  /// Nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
  public static func nanoseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }

  /// Milliseconds since 1970-01-01T00:00:00Z, rounded down: the unit of a Kafka timestamp.
  public static func milliseconds() -> Int64 {
    nanoseconds() / 1_000_000
  }
}
