/// The severity of a log line. As a threshold, each level includes those after it.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// Details for developers.
  case debug
  /// Normal operation: starts, stops, assignments.
  case info
  /// Conditions that an operator may have to examine.
  case warning
  /// Failures.
  case error

  public static func < (first: LogLevel, second: LogLevel) -> Bool {
    first.severity < second.severity
  }

  /// The position among all cases.
  var severity: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}
