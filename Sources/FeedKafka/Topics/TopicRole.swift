/// What FeedStore uses a topic for.
public enum TopicRole: String, Sendable, CaseIterable {
  /// Update records are read from it.
  case input
  /// Changesets are published to it, and read after a restart.
  case changesets
  /// Records that could not be applied are kept in it.
  case rejected
}
