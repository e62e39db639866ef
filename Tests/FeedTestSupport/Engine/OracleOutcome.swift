/// The result of one record.
public enum OracleOutcome: Sendable, Equatable {
  /// It was applied; these of its events had no effect, in order.
  case applied(noOps: [OracleNoOp])
  /// It is not newer than the newest record that the feed has taken.
  case alreadyApplied
  case rejected(OracleRejection)
}
