package import Diagnostics
import OperatingSystem

/// A stage of a flush whose time is measured.
package enum FlushStage: String, CaseIterable, Sendable {
  /// Computing each feed's changes, and encoding them.
  case plan
  /// Beginning transactions, and passing their records to librdkafka.
  case produce
  /// Sending the offsets that belong to the transaction.
  case offsets
  /// Waiting until the brokers have received the records and committed.
  case commit
}

/// The durations of committed flushes.
package struct FlushSeconds: Sendable {
  package private(set) var whole = Histogram(Self.bounds)
  package private(set) var stages = Dictionary(
    uniqueKeysWithValues: FlushStage.allCases.map { ($0, Histogram(Self.bounds)) }
  )

  private static let bounds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]

  package mutating func observe(_ clock: FlushClock) {
    whole.observe(clock.wholeSeconds)
    for stage in FlushStage.allCases { stages[stage]?.observe(clock.seconds(stage)) }
  }

  package mutating func add(_ other: FlushSeconds) {
    whole.add(other.whole)
    for (stage, histogram) in other.stages { stages[stage]?.add(histogram) }
  }
}

/// The durations of the current flush's stages, in nanoseconds.
package struct FlushClock {
  private var stages: [FlushStage: Int64] = [:]
  private var start: Int64 = 0

  package init() {}

  package mutating func begin() {
    stages = [:]
    start = MonotonicClock.nanoseconds()
  }

  /// Adds the time from then until now to a stage.
  package mutating func add(_ stage: FlushStage, since time: Int64) {
    stages[stage, default: 0] += MonotonicClock.nanoseconds() - time
  }

  package mutating func addPlanning(since time: Int64) {
    let elapsed = MonotonicClock.nanoseconds() - time
    stages[.plan, default: 0] += elapsed
    // The enclosing call counts all of its time as writing.
    stages[.produce, default: 0] -= elapsed
  }

  package func seconds(_ stage: FlushStage) -> Double { Double(max(0, stages[stage] ?? 0)) / 1e9 }

  /// From the beginning until now, in seconds.
  package var wholeSeconds: Double { Double(MonotonicClock.nanoseconds() - start) / 1e9 }
}
