import Service

/// How long the stages of the flush under way have taken, in nanoseconds.
struct FlushClock {
  private var stages = [Int64](repeating: 0, count: FlushStage.allCases.count)
  private var start: Int64 = 0

  /// A flush begins.
  mutating func begin() {
    for index in stages.indices { stages[index] = 0 }
    start = MonotonicClock.nanoseconds()
  }

  /// A call of a transaction went on from a time until now.
  mutating func add(_ step: TransactionMachine.Step, since time: Int64) {
    let elapsed = MonotonicClock.nanoseconds() - time
    switch step {
    case .begin, .write: stages[Self.index(.produce)] += elapsed
    case .addOffsets: stages[Self.index(.offsets)] += elapsed
    case .commit: stages[Self.index(.commit)] += elapsed
    case .nothing, .register, .abort, .replace: break
    }
  }

  /// A part of writing was planning.
  mutating func addPlanning(since time: Int64) {
    let elapsed = MonotonicClock.nanoseconds() - time
    stages[Self.index(.plan)] += elapsed
    // The call around it counts all of its time as writing.
    stages[Self.index(.produce)] -= elapsed
  }

  /// In seconds.
  func seconds(_ stage: FlushStage) -> Double { Double(max(0, stages[Self.index(stage)])) / 1e9 }

  /// From the beginning until now, in seconds.
  var wholeSeconds: Double { Double(MonotonicClock.nanoseconds() - start) / 1e9 }

  private static func index(_ stage: FlushStage) -> Int { FlushStage.allCases.firstIndex(of: stage) ?? 0 }
}
