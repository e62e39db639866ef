/// How much a log says; each level includes those after it.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// What a developer wants to know.
  case debug
  /// What an operator wants to know: starts, stops, assignments.
  case info
  /// What an operator may have to look into.
  case warning
  /// What went wrong.
  case error

  public static func < (first: LogLevel, second: LogLevel) -> Bool {
    first.severity < second.severity
  }

  /// Its place among all cases.
  var severity: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}
