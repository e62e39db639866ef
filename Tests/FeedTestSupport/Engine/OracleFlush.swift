/// What one flush is expected to write.
public struct OracleFlush: Sendable, Equatable {
  /// Ordered by partition, then by the feed id's bytes.
  public let changes: [OracleChange]
  /// In the order they were taken.
  public let rejected: [OracleRejected]
  /// How many records waited, whatever became of them.
  public let recordCount: Int

  public init(changes: [OracleChange], rejected: [OracleRejected] = [], recordCount: Int = 0) {
    self.changes = changes
    self.rejected = rejected
    self.recordCount = recordCount
  }
}
