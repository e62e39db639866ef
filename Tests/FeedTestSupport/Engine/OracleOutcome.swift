/// What became of one record.
public enum OracleOutcome: Sendable, Equatable {
  /// It was applied; of its events these did nothing, in order.
  case applied(noOps: [OracleNoOp])
  /// It is at or before the newest record that the feed has taken.
  case alreadyApplied
  case rejected(OracleRejection)
}
