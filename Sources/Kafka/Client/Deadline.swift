/// The time at which a blocking call must return.
struct Deadline {
  private let instant: ContinuousClock.Instant

  init(milliseconds: Int32) {
    instant = .now + .milliseconds(max(0, Int64(milliseconds)))
  }

  /// The remaining time in milliseconds, rounded up; 0 after the deadline.
  var remainingMilliseconds: Int32 {
    let remaining = ContinuousClock.Instant.now.duration(to: instant)
    guard remaining > .zero else { return 0 }
    let (seconds, attoseconds) = remaining.components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  var hasPassed: Bool { remainingMilliseconds == 0 }
}
