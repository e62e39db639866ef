/// Why an event did nothing.
public enum OracleNoOp: String, Sendable, CaseIterable {
  case unknownItem = "unknown-item"
  case unknownSection = "unknown-section"
  case unknownFeed = "unknown-feed"
}
