/// The kind of a log line. Names are stable: scripts and alerts may depend on them, but not on the message.
///
/// Each module declares the events that it logs, in its `LogEvents.swift`. `docs/log.md` explains them, and
/// `docs/schemas/log-line.schema.json` lists them.
package struct LogEvent: Sendable, Equatable {
  /// The severity, fixed for each event.
  package let level: LogLevel
  /// The name, for programs. The part before the first dot is the area.
  package let name: String
  /// Whether repetitions are counted instead of written.
  let isCounted: Bool
  /// Whether the event is about connections to brokers, so that repetitions by all workers are counted together.
  let isOfProcess: Bool

  /// - Parameter isCounted: false for a warning or an error that an operator waits for, after a reload or while a start
  ///   waits for topics. Other events than warnings and errors report the daemon's state: they are always written, so
  ///   that the last line shows the current state.
  package init(_ level: LogLevel, _ name: String, isCounted: Bool = true, isOfProcess: Bool = false) {
    self.level = level
    self.name = name
    self.isCounted = isCounted && level >= .warning
    self.isOfProcess = isOfProcess
  }
}

/// The severity of a log line. As a threshold, each level includes those after it.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// Details for developers.
  case debug
  /// Normal operation: starts, stops, assignments.
  case info
  /// Conditions that an operator may have to examine.
  case warning
  /// Failures.
  case error

  package static func < (first: LogLevel, second: LogLevel) -> Bool {
    first.severity < second.severity
  }

  /// The position among all cases.
  var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
