/// Why an event did nothing: the element that it names does not exist. Counted, not rejected.
public enum NoOpReason: String, Sendable, CaseIterable {
  case unknownItem = "unknown-item"
  case unknownSection = "unknown-section"
  case unknownFeed = "unknown-feed"
  /// The whole record was published already, and is not applied again.
  case alreadyApplied = "already-applied"
}
