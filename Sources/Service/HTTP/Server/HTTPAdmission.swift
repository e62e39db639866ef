/// The decision on a request, based on its head.
enum HTTPAdmission: Sendable {
  /// Rejected without calling a handler.
  case refused(HTTPResponse)
  /// Accepted by a handler; `request` still lacks its content.
  case accepted(HTTPRouter.Handler, AcceptedRequest)

  /// A handler's request, except for the content.
  struct AcceptedRequest: Sendable {
    var method: HTTPMethod
    var path: String
    var parameters: [String: String]
    var query: [HTTPField]
    var headers: [HTTPField]
    var mediaType: String?
    var clientAddress: String

    func request(body: [UInt8]) -> HTTPRequest {
      HTTPRequest(
        method: method,
        path: path,
        parameters: parameters,
        query: query,
        headers: headers,
        body: body,
        mediaType: mediaType,
        clientAddress: clientAddress
      )
    }
  }
}
