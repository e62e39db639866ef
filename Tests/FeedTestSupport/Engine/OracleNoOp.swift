/// Why an event had no effect.
public enum OracleNoOp: String, Sendable, CaseIterable {
  case unknownItem = "unknown-item"
  case unknownSection = "unknown-section"
  case unknownFeed = "unknown-feed"
}
