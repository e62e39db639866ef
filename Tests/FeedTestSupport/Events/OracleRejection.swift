/// Why a record was rejected.
public struct OracleRejection: Error, Sendable, Equatable {
  public let code: OracleRejectCode
  /// The index of the event at fault; nil if it is the whole record.
  public let event: Int?
  /// The field at fault; nil if it is none.
  public let field: String?
  /// The exceeded limit, if it is one on state; a message must name it.
  public let limit: String?

  public init(_ code: OracleRejectCode, event: Int? = nil, field: String? = nil) {
    self.code = code
    self.event = event
    self.field = field
    limit = nil
  }

  /// A limit on state is exceeded.
  init(limit: String, event: Int?) {
    code = .limitExceeded
    self.event = event
    field = nil
    self.limit = limit
  }
}
