/// Writes what happens to standard error, a line each: time, level, message, fields.
///
/// ```
/// 2026-11-20T10:00:00.250Z info    published feeds=12 bytes=3400 worker=0
/// ```
///
/// Message and fields of a level that is off are not evaluated, and nothing is allocated for them.
public struct Log: Sendable {
  private let threshold: LogThreshold
  private let fields: LogFields
  private let output: DiagnosticOutput
  private let now: @Sendable () -> Int64

  /// - Parameters:
  ///   - level: The least severe level to write.
  ///   - output: Where to.
  ///   - now: The time in milliseconds since 1970; a test hands in its own.
  public init(
    level: LogLevel = .info,
    output: DiagnosticOutput = .standardError,
    now: @escaping @Sendable () -> Int64 = WallClock.milliseconds
  ) {
    self.init(threshold: LogThreshold(level), fields: [:], output: output, now: now)
  }

  private init(
    threshold: LogThreshold,
    fields: LogFields,
    output: DiagnosticOutput,
    now: @escaping @Sendable () -> Int64
  ) {
    self.threshold = threshold
    self.fields = fields
    self.output = output
    self.now = now
  }

  /// The least severe level that is written.
  public var level: LogLevel { threshold.level }

  /// Changes the level of this log and of all that ``with(_:)`` made of it, or that it was made of.
  public func setLevel(_ level: LogLevel) { threshold.level = level }

  /// The same log with fields that every line ends with.
  public func with(_ more: LogFields) -> Log {
    Log(threshold: threshold, fields: fields + more, output: output, now: now)
  }

  public func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    write(.debug, message, fields)
  }

  public func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    write(.info, message, fields)
  }

  public func warning(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    write(.warning, message, fields)
  }

  public func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    write(.error, message, fields)
  }

  /// Writes at a level that is known only at run time, such as that of a C library's own log.
  public func log(
    _ level: LogLevel,
    _ message: @autoclosure () -> String,
    _ fields: @autoclosure () -> LogFields = [:]
  ) {
    write(level, message, fields)
  }

  private func write(_ level: LogLevel, _ message: () -> String, _ more: () -> LogFields) {
    guard threshold.allows(level) else { return }
    let name = level.rawValue + String(repeating: " ", count: 7 - level.rawValue.utf8.count)
    let time = Timestamp.rfc3339(milliseconds: now())
    output.write(line: time + " " + name + " " + LogFields.escaped(message()) + more().text + fields.text)
  }
}
