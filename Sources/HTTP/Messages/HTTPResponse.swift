/// A handler's response.
///
/// The server adds headers to every response: `X-Content-Type-Options: nosniff`, `Cross-Origin-Resource-Policy:
/// same-origin`, `Date`, and CORS headers for pages of ``HTTPServerConfiguration/allowedOrigins``.
package struct HTTPResponse: Sendable {
  /// The HTTP status, such as 200.
  package var status: Int
  /// nil if there is no content.
  package var contentType: String?
  /// nil for none. It is sent compressed to clients that accept gzip, if that is shorter.
  package var content: HTTPContent?
  /// A name for this version of the content, without quotes: visible ASCII characters except `"`. Clients that have
  /// this version receive 304. nil for none.
  package var entityTag: String?
  /// Who may cache the response, and for how long. By default no one; `no-cache` allows caching with revalidation,
  /// which requires an ``entityTag``.
  package var cacheControl = "no-store"
  /// The request's header fields on which the response depends, besides `Origin`.
  package var varies = "Accept, Accept-Encoding"
  /// The rights of a page. By default none, which suits everything except pages.
  package var contentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'"
  /// Additional header fields. Fields with a line break, or without a name or value, are omitted.
  package var headers: [HTTPField] = []
  /// Called on one of the server's threads when sending the content begins; not called without content, as for HEAD
  /// and 304. The returned object is kept until the content has been sent or abandoned.
  package var onTransfer: (@Sendable (HTTPTransfer, _ byteCount: Int) -> (any Sendable & AnyObject)?)?
  /// For an event stream, called with the stream once it is open.
  let openStream: (@Sendable (EventStream) -> Void)?
  /// For a response that follows later, called with its receiver.
  private(set) var beginWaiting: (@Sendable (HTTPLaterResponse) -> Void)?

  /// A response with content.
  package init(status: Int = 200, contentType: String, content: HTTPContent, entityTag: String? = nil) {
    self.status = status
    self.contentType = contentType
    self.content = content
    self.entityTag = entityTag
    openStream = nil
  }

  /// A response without content, such as 204.
  package init(status: Int) {
    self.status = status
    openStream = nil
  }

  /// A response to a client that already has this version, which avoids creating the content: see
  /// `HTTPRequest.isKnown`.
  package static func unchanged(entityTag: String) -> HTTPResponse {
    var response = HTTPResponse(status: 304)
    response.entityTag = entityTag
    response.cacheControl = "no-cache"
    return response
  }

  private init(openStream: @escaping @Sendable (EventStream) -> Void) {
    status = 200
    contentType = "text/event-stream"
    // Otherwise a proxy could collect or compress events, and delay them.
    cacheControl = "no-store, no-transform"
    headers = [HTTPField("X-Accel-Buffering", "no")]
    self.openStream = openStream
  }

  /// A streaming response with Server-Sent Events.
  ///
  /// - Parameter open: called on one of the server's threads with the stream, before the first byte is sent. It should
  ///   pass the stream to its writer, and may write to it. It is not called for a HEAD request, or if the limit on
  ///   streams is reached, which is answered with 503.
  package static func events(_ open: @escaping @Sendable (EventStream) -> Void) -> HTTPResponse {
    HTTPResponse(openStream: open)
  }

  /// A response that follows later. Its connection waits, but no thread does.
  ///
  /// - Parameter begin: called on one of the server's threads; it must not block. It must ensure a response within a time that a
  ///   client would wait, and before the server stops.
  package static func later(_ begin: @escaping @Sendable (HTTPLaterResponse) -> Void) -> HTTPResponse {
    var response = HTTPResponse(status: 503)
    response.beginWaiting = begin
    return response
  }

  /// An error response as `application/problem+json` (RFC 9457).
  ///
  /// - Parameters:
  ///   - status: the HTTP status, such as 400.
  ///   - code: for programs: stable, lower case, with hyphens.
  ///   - detail: for users: the problem, and the remedy.
  ///   - members: additional string members, such as another address to ask.
  package static func problem(
    status: Int,
    code: String,
    detail: String,
    members: KeyValuePairs<String, String> = [:]
  ) -> HTTPResponse {
    let all = [("code", code), ("detail", detail)] + members.map { ($0.key, $0.value) }
    let quoted = all.map { ",\(JSONQuotation.quote($0.0)):\(JSONQuotation.quote($0.1))" }
    let text = "{\"status\":\(status)\(quoted.joined())}\n"
    return HTTPResponse(status: status, contentType: "application/problem+json", content: HTTPContent(text))
  }

}

/// An error with a response to the request.
package protocol HTTPRefusing: Error {
  var response: HTTPResponse { get }
}

/// A response that ends the handling of a request.
package struct HTTPRefusal: HTTPRefusing {
  package let response: HTTPResponse

  package init(_ response: HTTPResponse) { self.response = response }

  /// A problem; see `HTTPResponse.problem`.
  package init(_ status: Int, _ code: String, _ detail: String, headers: [HTTPField] = []) {
    var response = HTTPResponse.problem(status: status, code: code, detail: detail)
    response.headers = headers
    self.response = response
  }

  /// The request may succeed a second later.
  package static func unavailable(_ code: String, _ detail: String) -> HTTPRefusal {
    HTTPRefusal(503, code, detail, headers: [HTTPField("Retry-After", "1")])
  }

  /// The token has ended while its client waited.
  package static let tokenExpired = HTTPRefusal(TokenFault("the token has expired").response)

  /// A token does not allow reading the resource.
  package static let forbidden = HTTPRefusal(
    403,
    "forbidden",
    "the token has no right to read this: see its claims, and http.jwt.read"
  )
}

/// Encodes JSON strings (RFC 8259).
enum JSONQuotation {
  /// A quoted and escaped string.
  static func quote(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
