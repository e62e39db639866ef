/// Which records of transactions a consumer sees.
public enum IsolationLevel: String, Sendable {
  /// Only records of committed transactions, up to the last stable offset.
  case readCommitted = "read_committed"
  /// All records; watermarks then count those of open and aborted transactions as well.
  case readUncommitted = "read_uncommitted"
}
