/// How large a request's head may be, and what may follow it.
public struct HTTPHeadLimits: Sendable, Equatable {
  /// Bytes of the request line and the header fields.
  public var bytes = 16 << 10
  /// Header fields.
  public var fields = 100
  /// Parts of the query.
  public var parameters = 100
  /// Bytes of content.
  public var contentBytes = 1 << 20

  /// The defaults.
  public init() {}
}
