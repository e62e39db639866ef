/// A request as a route's handler gets it.
public struct HTTPRequest: Sendable {
  /// GET for HEAD as well: the server leaves the content out by itself.
  public let method: HTTPMethod
  /// The path as it was sent, percent-encoded, without the query.
  public let path: String
  /// The route's parameters by name, decoded. A parameter may hold a slash that was sent as `%2F`.
  public let parameters: [String: String]
  /// The parts of the query in their order, decoded.
  public let query: [HTTPField]
  /// The header fields in their order, names as they were sent.
  public let headers: [HTTPField]
  /// The content that was sent; at most ``HTTPServerConfiguration/maxBodyBytes``.
  public let body: [UInt8]
  /// The one of the route's media types that the client likes best; nil if the route names none.
  public let mediaType: String?
  /// The address of the client, without the port. That of the last proxy if there is one.
  public let clientAddress: String

  /// The first header field of a name, in any case.
  public func header(_ name: String) -> String? {
    headers.first(named: name)
  }

  /// Whether the client has this version of what it asks for, compressed or not (`If-None-Match`).
  public func isKnown(entityTag: String) -> Bool {
    header("If-None-Match").flatMap { EntityTag.matched(entityTag, by: $0) } != nil
  }

  /// The first part of the query with a name, in this case.
  public func queryValue(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }
}
