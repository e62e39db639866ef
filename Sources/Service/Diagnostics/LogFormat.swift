/// How log lines are written.
public enum LogFormat: String, Sendable, CaseIterable {
  /// For people: time, level, message, event, and fields as `key=value`.
  case text
  /// For programs: one JSON object a line.
  case json
}
