/// Why a record was rejected.
public struct OracleRejection: Error, Sendable, Equatable {
  public let code: OracleRejectCode
  /// The event at fault, counted from 0; nil when it is the record as a whole.
  public let event: Int?
  /// The field at fault, when it is one.
  public let field: String?
  /// The limit that is passed, where it is one on what is kept; a message must name it.
  public let limit: String?

  public init(_ code: OracleRejectCode, event: Int? = nil, field: String? = nil) {
    self.code = code
    self.event = event
    self.field = field
    limit = nil
  }

  /// A limit on what is kept is passed.
  init(limit: String, event: Int?) {
    code = .limitExceeded
    self.event = event
    field = nil
    self.limit = limit
  }
}
