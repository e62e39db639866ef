import Synchronization

/// The level shared by a log and all logs derived from it. It may change at any time.
final class LogThreshold: Sendable {
  private let severity: Atomic<Int>

  init(_ level: LogLevel) { severity = Atomic(level.severity) }

  var level: LogLevel {
    get { LogLevel.allCases[severity.load(ordering: .relaxed)] }
    set { severity.store(newValue.severity, ordering: .relaxed) }
  }

  func allows(_ level: LogLevel) -> Bool { level.severity >= severity.load(ordering: .relaxed) }
}
