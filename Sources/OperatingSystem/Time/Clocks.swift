import Glibc

/// A monotonic clock for durations and deadlines. Its zero is arbitrary (the machine's boot).
package enum MonotonicClock {
  /// Nanoseconds since the clock's zero.
  package static func nanoseconds() -> Int64 { OperatingSystem.nanoseconds(of: CLOCK_MONOTONIC) }

  /// Milliseconds since the clock's zero, rounded down.
  package static func milliseconds() -> Int64 {
    nanoseconds() / 1_000_000
  }

  /// The same, up to some milliseconds old, at a fraction of the cost; for checks before each record.
  package static func coarseMilliseconds() -> Int64 {
    OperatingSystem.nanoseconds(of: CLOCK_MONOTONIC_COARSE) / 1_000_000
  }
}

private func nanoseconds(of clock: clockid_t) -> Int64 {
  var now = timespec()
  clock_gettime(clock, &now)
  return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}

/// The time of day, which may jump when the machine's clock is set. For timestamps, not for durations.
package enum WallClock {
  /// Milliseconds since 1970-01-01T00:00:00Z without leap seconds, rounded down: the unit of a Kafka timestamp.
  package static func milliseconds() -> Int64 { nanoseconds(of: CLOCK_REALTIME) / 1_000_000 }
}

/// A pause or a timeout that doubles with each failure, up to a maximum.
package struct ExponentialBackoff<Value: FixedWidthInteger & Sendable>: Sendable {
  package let least: Value
  package let greatest: Value

  package init(from least: Value, to greatest: Value) {
    self.least = least
    self.greatest = greatest
  }

  /// The value after this many doublings.
  package subscript(times: Int) -> Value {
    // 16 doublings exceed any maximum, and cannot overflow.
    min(greatest, least << Value(min(times, 16)))
  }
}
