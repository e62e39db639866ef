/// A request, as passed to a route's handler.
public struct HTTPRequest: Sendable {
  /// The method; GET for HEAD as well, because the server omits the content.
  public let method: HTTPMethod
  /// The path as it was sent, percent-encoded, without the query.
  public let path: String
  /// The route's parameters by name, decoded. A parameter may hold a slash that was sent as `%2F`.
  public let parameters: [String: String]
  /// The query parameters in order, decoded.
  public let query: [HTTPField]
  /// The header fields in order, with names as sent.
  public let headers: [HTTPField]
  /// The request body; at most ``HTTPServerConfiguration/maxBodyBytes``.
  public let body: [UInt8]
  /// The media type of the route that the client prefers; nil if the route names none.
  public let mediaType: String?
  /// The client's address, without the port. Behind a proxy, the proxy's address.
  public let clientAddress: String

  /// The first header field with a name, ignoring case.
  public func header(_ name: String) -> String? {
    headers.first(named: name)
  }

  /// Whether the client has this version of the content, compressed or not (`If-None-Match`).
  public func isKnown(entityTag: String) -> Bool {
    header("If-None-Match").flatMap { EntityTag.matched(entityTag, by: $0) } != nil
  }

  /// The first query parameter with a name; case matters.
  public func queryValue(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }
}
