/// What the daemon does when input that the group has not read is gone from a topic, by
/// `kafka.onLostInput`.
public enum LostInputPolicy: String, Sendable, CaseIterable {
  /// Stops, and says what is missing.
  case fail
  /// Goes on with the oldest record there is, and says what is missing.
  case `continue`
}
