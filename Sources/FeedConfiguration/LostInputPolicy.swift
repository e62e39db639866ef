/// What the daemon does if a topic has lost input that the group has not read (`kafka.onLostInput`).
public enum LostInputPolicy: String, Sendable, CaseIterable {
  /// Stops, and reports what is missing.
  case fail
  /// Continues with the oldest available record, and reports what is missing.
  case `continue`
}
