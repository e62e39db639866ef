/// Why `apply` returned.
public enum ApplyOutcome: Sendable, Equatable {
  /// The batch has no more records.
  case exhausted
  /// The pending changes must be published before the rest of the batch is applied.
  case flushDue
}
