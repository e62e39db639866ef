/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
  /// For people: time, level, message, event, and fields as `key=value`.
  case text
  /// For programs: one JSON object per line.
  case json
}
