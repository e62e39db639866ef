/// The limits on a request's head and content.
public struct HTTPHeadLimits: Sendable, Equatable {
  /// The size of the request line and header fields, in bytes.
  public var bytes = 16 << 10
  /// The number of header fields.
  public var fields = 100
  /// The number of query parameters.
  public var parameters = 100
  /// The size of the content, in bytes.
  public var contentBytes = 1 << 20

  /// The defaults.
  public init() {}
}
