import Glibc

/// Many measured durations of the same operation.
struct Samples {
  private var nanoseconds: [UInt64] = []

  var count: Int { nanoseconds.count }

  mutating func add(_ duration: UInt64) { nanoseconds.append(duration) }

  /// The median, in nanoseconds.
  var median: Double { quantile(0.5) }
  /// The 90th percentile, in nanoseconds.
  var p90: Double { quantile(0.9) }

  /// The 99th percentile, in nanoseconds.
  var p99: Double { quantile(0.99) }

  var longest: Double { Double(nanoseconds.max() ?? 0) }

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
