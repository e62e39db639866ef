import Synchronization

/// The state that a log shares with all logs derived from it: destination, format, and counted repetitions.
final class LogWriter: Sendable {
  let threshold: LogThreshold
  let format: LogFormat
  private let output: DiagnosticOutput
  private let clocks: LogClocks
  private let state = Mutex(State())

  private struct State {
    var repeats = RepeatCounter<String, LogLine>()
    /// Whether a check at the end of the next interval is scheduled.
    var isExpected = false
  }

  init(_ threshold: LogThreshold, _ format: LogFormat, _ output: DiagnosticOutput, _ clocks: LogClocks) {
    self.threshold = threshold
    self.format = format
    self.output = output
    self.clocks = clocks
  }

  func write(_ line: LogLine) {
    guard line.event.isCounted else { return emit(line) }
    let key = line.repeatKey
    state.withLock { state in
      emit(state.repeats.add(line, key: key, at: clocks.monotonic()))
      expectEnd(&state)
    }
  }

  /// Writes the counts of repeated lines.
  func finish() {
    state.withLock { emit($0.repeats.finish()) }
  }

  private func endIntervals() {
    state.withLock { state in
      state.isExpected = false
      emit(state.repeats.endIntervals(at: clocks.monotonic()))
      expectEnd(&state)
    }
  }

  private func expectEnd(_ state: inout State) {
    guard !state.isExpected, let end = state.repeats.nextEnd else { return }
    state.isExpected = true
    clocks.later(max(0, end - clocks.monotonic())) { [weak self] in self?.endIntervals() }
  }

  private func emit(_ occurrences: [RepeatCounter<String, LogLine>.Occurrence]) {
    for occurrence in occurrences { emit(occurrence.element, repeated: occurrence.repeated) }
  }

  private func emit(_ line: LogLine, repeated: Int = 0) {
    output.write(line: line.written(format, milliseconds: clocks.wall(), repeated: repeated))
  }
}
