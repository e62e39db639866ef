/// Which records of transactions a consumer reads.
public enum IsolationLevel: String, Sendable {
  /// Only records of committed transactions, up to the last stable offset.
  case readCommitted = "read_committed"
  /// All records. Watermarks then include those of open and aborted transactions.
  case readUncommitted = "read_uncommitted"
}
