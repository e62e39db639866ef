import Service

/// How long committed flushes took.
struct FlushSeconds: Sendable {
  private(set) var whole = Histogram(Self.bounds)
  private(set) var stages: [FlushStage: Histogram] = [:]

  private static let bounds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]

  init() {
    for stage in FlushStage.allCases { stages[stage] = Histogram(Self.bounds) }
  }

  /// A flush was committed.
  mutating func observe(_ clock: FlushClock) {
    whole.observe(clock.wholeSeconds)
    for stage in FlushStage.allCases { stages[stage]?.observe(clock.seconds(stage)) }
  }

  mutating func add(_ other: FlushSeconds) {
    whole.add(other.whole)
    for (stage, histogram) in other.stages { stages[stage]?.add(histogram) }
  }
}
