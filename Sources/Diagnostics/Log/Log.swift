import OperatingSystem
import Synchronization

/// Writes events to standard error, one line each, as text or JSON.
///
/// ```
/// 2026-11-20T10:00:00.250Z info    serving HTTP event=http.serving url=http://127.0.0.1:8321
/// {"time":"2026-11-20T10:00:00.250Z","level":"info","event":"http.serving","message":"serving HTTP","url":"http://127.0.0.1:8321"}
/// ```
///
/// Repeated warnings and errors are counted: the first one is written at once, and while they continue, a line every 30
/// s has `repeated=N`. Lines are repetitions if event, message and fields are equal, ignoring ``LogFigure``s.
///
/// Messages and fields below the log level are not evaluated, and cost no allocation.
package struct Log: Sendable {
  private let writer: LogWriter
  private let fields: LogFields

  /// - Parameter level: the least severe level that is written.
  package init(
    level: LogLevel = .info,
    format: LogFormat = .text,
    output: DiagnosticOutput = .standardError,
    clocks: LogClocks = LogClocks()
  ) {
    self.init(LogWriter(level, format, output, clocks), fields: [:])
  }

  private init(_ writer: LogWriter, fields: LogFields) {
    self.writer = writer
    self.fields = fields
  }

  /// The least severe level that is written.
  package var level: LogLevel { writer.level }

  /// Changes the level of this log and of all logs related to it by ``with(_:)``.
  package func setLevel(_ level: LogLevel) { writer.level = level }

  package var format: LogFormat { writer.format }

  /// A log that appends fields to every line of this one.
  package func with(_ more: LogFields) -> Log { Log(writer, fields: fields + more) }

  /// Writes a line at the event's level.
  ///
  /// - Parameters:
  ///   - event: the kind of line, for programs.
  ///   - message: a short description for users. Put variable parts into fields.
  package func write(
    _ event: LogEvent,
    _ message: @autoclosure () -> String,
    _ fields: @autoclosure () -> LogFields = [:]
  ) {
    guard event.level >= writer.level else { return }
    writer.write(LogLine(event: event, message: message(), fields: fields(), context: self.fields))
  }

  /// Writes the counts of repeated lines. Call it before the process ends.
  package func finish() { writer.finish() }
}

/// The fields of a log line, in order: `["topic": topic, "records": count]`.
///
/// Numbers and booleans keep their types in JSON; quantities are ``LogFigure``s; all other values are strings. Names
/// are camelCase, as in JSON.
package struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
  let fields: [(name: String, value: LogFigure)]

  package init(dictionaryLiteral fields: (String, any CustomStringConvertible)...) {
    self.fields = fields.map { ($0.0, $0.1 as? LogFigure ?? LogFigure(plain: $0.1)) }
  }

  private init(_ fields: [(name: String, value: LogFigure)]) {
    self.fields = fields
  }

  package static func + (first: LogFields, second: LogFields) -> LogFields {
    LogFields(first.fields + second.fields)
  }
}

/// The state that a log shares with all logs derived from it: destination, format, and counted repetitions.
final class LogWriter: Sendable {
  /// The position of the level among all; it may change at any time.
  private let severity: Atomic<Int>
  let format: LogFormat
  private let output: DiagnosticOutput
  private let clocks: LogClocks
  private let state = Mutex(State())

  private struct State {
    var repeats = RepeatCounter<String, LogLine>()
    /// Whether a check at the end of the next interval is scheduled.
    var isExpected = false
  }

  init(_ level: LogLevel, _ format: LogFormat, _ output: DiagnosticOutput, _ clocks: LogClocks) {
    severity = Atomic(level.severity)
    self.format = format
    self.output = output
    self.clocks = clocks
  }

  /// The least severe level that is written.
  var level: LogLevel {
    get { LogLevel.allCases[severity.load(ordering: .relaxed)] }
    set { severity.store(newValue.severity, ordering: .relaxed) }
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

/// The clocks that the log uses; tests replace them.
package struct LogClocks: Sendable {
  /// Milliseconds since 1970, for the lines.
  package var wall: @Sendable () -> Int64 = WallClock.milliseconds
  /// Milliseconds of a monotonic clock, for counting repetitions.
  package var monotonic: @Sendable () -> Int64 = MonotonicClock.milliseconds
  /// Runs an action after this many milliseconds, on any thread.
  package var later: @Sendable (_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) -> Void = {
    milliseconds,
    action in
    Task.detached {
      try await Task.sleep(for: .milliseconds(milliseconds))
      action()
    }
  }

  /// The system's clocks.
  package init() {}
}
