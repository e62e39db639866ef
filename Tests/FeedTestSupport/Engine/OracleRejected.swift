/// A rejected record, and the reason.
public struct OracleRejected: Sendable, Equatable {
  public let record: OracleRecord
  public let rejection: OracleRejection
}
