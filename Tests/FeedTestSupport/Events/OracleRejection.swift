/// Why a record was rejected.
public struct OracleRejection: Error, Sendable, Equatable {
  public let code: OracleRejectCode
  /// The event at fault, counted from 0; nil when it is the record as a whole.
  public let event: Int?
  /// The field at fault, when it is one.
  public let field: String?

  public init(_ code: OracleRejectCode, event: Int? = nil, field: String? = nil) {
    self.code = code
    self.event = event
    self.field = field
  }
}
