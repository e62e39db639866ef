/// What taking one record led to.
public struct OracleStep: Sendable, Equatable {
  /// The flush its timestamp caused, before it was taken.
  public let flushBefore: OracleFlush?
  public let outcome: OracleOutcome
  /// The flush it filled up.
  public let flushAfter: OracleFlush?
}
