/// Writes what happens to standard error, one line per fact, as text or as JSON.
///
/// ```
/// 2026-11-20T10:00:00.250Z info    serving HTTP event=http.serving url=http://127.0.0.1:8321
/// {"time":"2026-11-20T10:00:00.250Z","level":"info","event":"http.serving","message":"serving HTTP","url":"http://127.0.0.1:8321"}
/// ```
///
/// Warnings and errors that say the same are counted: the first is written at once, and as long as they go on, a line each
/// 30 s says `repeated=N`. Lines say the same if event, message and fields do, whatever their ``LogFigure``s.
///
/// Message and fields of a level that is off are not evaluated, and nothing is allocated for them.
public struct Log: Sendable {
  private let writer: LogWriter
  private let fields: LogFields

  /// - Parameters:
  ///   - level: The least severe level to write.
  ///   - format: How lines are written.
  ///   - output: Where to.
  ///   - clocks: The time.
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

  /// Changes the level of this log and of all that ``with(_:)`` made of it, or that it was made of.
  public func setLevel(_ level: LogLevel) { writer.threshold.level = level }

  /// How lines are written.
  public var format: LogFormat { writer.format }

  /// The same log with fields that every line ends with.
  public func with(_ more: LogFields) -> Log { Log(writer, fields: fields + more) }

  /// Writes a line, at the level of its event.
  ///
  /// - Parameters:
  ///   - event: What it is about, for programs.
  ///   - message: The same for people, in a few words; what differs from line to line goes into fields.
  public func write(
    _ event: LogEvent,
    _ message: @autoclosure () -> String,
    _ fields: @autoclosure () -> LogFields = [:]
  ) {
    guard writer.threshold.allows(event.level) else { return }
    writer.write(LogLine(event: event, message: message(), fields: fields(), context: self.fields))
  }

  /// Writes what was counted until now. To be called before the process ends.
  public func finish() { writer.finish() }
}
