/// What is done with a request, judged by its head.
enum HTTPAdmission: Sendable {
  /// It is not let through to a handler.
  case refused(HTTPResponse)
  /// The handler answers; `request` still lacks its content.
  case accepted(HTTPRouter.Handler, AcceptedRequest)

  /// What a handler is given, but for the content.
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
