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
public struct Log: Sendable {
  private let writer: LogWriter
  private let fields: LogFields

  /// - Parameters:
  ///   - level: the least severe level that is written.
  ///   - format: the format of the lines.
  ///   - output: the destination.
  ///   - clocks: the clocks.
  public init(
    level: LogLevel = .info,
    format: LogFormat = .text,
    output: DiagnosticOutput = .standardError,
    clocks: LogClocks = LogClocks()
  ) {
    self.init(LogWriter(LogThreshold(level), format, output, clocks), fields: [:])
  }

  private init(_ writer: LogWriter, fields: LogFields) {
    self.writer = writer
    self.fields = fields
  }

  /// The least severe level that is written.
  public var level: LogLevel { writer.threshold.level }

  /// Changes the level of this log and of all logs related to it by ``with(_:)``.
  public func setLevel(_ level: LogLevel) { writer.threshold.level = level }

  /// The format of the lines.
  public var format: LogFormat { writer.format }

  /// The same log, with fields appended to every line.
  public func with(_ more: LogFields) -> Log { Log(writer, fields: fields + more) }

  /// Writes a line at the event's level.
  ///
  /// - Parameters:
  ///   - event: the kind of line, for programs.
  ///   - message: a short description for people. Put variable parts into fields.
  public func write(
    _ event: LogEvent,
    _ message: @autoclosure () -> String,
    _ fields: @autoclosure () -> LogFields = [:]
  ) {
    guard writer.threshold.allows(event.level) else { return }
    writer.write(LogLine(event: event, message: message(), fields: fields(), context: self.fields))
  }

  /// Writes the counts of repeated lines. Call it before the process ends.
  public func finish() { writer.finish() }
}
