import Synchronization

/// The least severe level that a log and everything made of it write; it may be changed while they do.
final class LogThreshold: Sendable {
  private let severity: Atomic<Int>

  init(_ level: LogLevel) { severity = Atomic(level.severity) }

  var level: LogLevel {
    get { LogLevel.allCases[severity.load(ordering: .relaxed)] }
    set { severity.store(newValue.severity, ordering: .relaxed) }
  }

  func allows(_ level: LogLevel) -> Bool { level.severity >= severity.load(ordering: .relaxed) }
}
