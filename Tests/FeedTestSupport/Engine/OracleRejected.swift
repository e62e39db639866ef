/// A record that was rejected, and why.
public struct OracleRejected: Sendable, Equatable {
  public let record: OracleRecord
  public let rejection: OracleRejection
}
