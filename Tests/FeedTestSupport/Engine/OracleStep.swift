/// The result of taking one record.
public struct OracleStep: Sendable, Equatable {
  /// The flush that its timestamp caused, before it was taken.
  public let flushBefore: OracleFlush?
  public let outcome: OracleOutcome
  /// The flush that it caused by reaching a limit.
  public let flushAfter: OracleFlush?
}
