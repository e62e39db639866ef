/// The expected output of one flush.
public struct OracleFlush: Sendable, Equatable {
  /// Ordered by partition, then by the feed id's bytes.
  public let changes: [OracleChange]
  /// In the order of the input.
  public let rejected: [OracleRejected]
  /// The number of records in the window, including rejected ones.
  public let recordCount: Int

  public init(changes: [OracleChange], rejected: [OracleRejected] = [], recordCount: Int = 0) {
    self.changes = changes
    self.rejected = rejected
    self.recordCount = recordCount
  }
}
