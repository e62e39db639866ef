import Glibc

/// Durations of the same thing, measured many times.
struct Samples {
  private var nanoseconds: [UInt64] = []

  var count: Int { nanoseconds.count }

  mutating func add(_ duration: UInt64) { nanoseconds.append(duration) }

  /// The duration that half of the samples do not exceed, in nanoseconds.
  var median: Double { quantile(0.5) }
  /// The duration that nine in ten samples do not exceed, in nanoseconds.
  var p90: Double { quantile(0.9) }

  /// The duration that 99 in a hundred samples do not exceed, in nanoseconds.
  var p99: Double { quantile(0.99) }

  private func quantile(_ fraction: Double) -> Double {
    precondition(!nanoseconds.isEmpty, "nothing was measured")
    let sorted = nanoseconds.sorted()
    return Double(sorted[min(Int(Double(sorted.count) * fraction), sorted.count - 1)])
  }
}

/// A point in time, in nanoseconds of the monotonic clock.
func now() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
