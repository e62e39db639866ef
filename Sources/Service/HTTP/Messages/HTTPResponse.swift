/// What a handler answers.
///
/// The server adds what all answers have: `X-Content-Type-Options: nosniff`, `Cross-Origin-Resource-Policy:
/// same-origin`, `Date`. It never sends a header that lets pages of other origins read an answer (CORS).
public struct HTTPResponse: Sendable {
  /// 200 and such.
  public var status: Int
  /// Nil if there is no content.
  public var contentType: String?
  /// Nil for none. It is sent compressed to those who accept gzip, if that is shorter.
  public var content: HTTPContent?
  /// A name for this version of the content, without quotes: visible ASCII characters but for `"`. Who has
  /// this version is answered 304. Nil for none.
  public var entityTag: String?
  /// Who may keep the answer for how long. By default nobody; `no-cache` lets it be kept, but asked for
  /// each time, which goes with an ``entityTag``.
  public var cacheControl = "no-store"
  /// What a page may load and do. By default nothing, which suits all that is not a page.
  public var contentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'"
  /// More header fields. One with a line break, or without a name or value, is left out.
  public var headers: [HTTPField] = []
  /// Called on one of the server's threads when the content begins to be sent; not if there is nothing to send, as for
  /// HEAD and 304. What it returns is kept until the content is sent or given up.
  public var onTransfer: (@Sendable (HTTPTransfer, _ byteCount: Int) -> (any Sendable & AnyObject)?)?
  /// For a stream of events, what is done with it once it is open.
  let openStream: (@Sendable (EventStream) -> Void)?

  /// An answer with content.
  public init(status: Int = 200, contentType: String, content: HTTPContent, entityTag: String? = nil) {
    self.status = status
    self.contentType = contentType
    self.content = content
    self.entityTag = entityTag
    openStream = nil
  }

  /// An answer without content, such as 204.
  public init(status: Int) {
    self.status = status
    openStream = nil
  }

  /// An answer to who has this version already, to spare making the content: see `HTTPRequest.isKnown`.
  public static func unchanged(entityTag: String) -> HTTPResponse {
    var response = HTTPResponse(status: 304)
    response.entityTag = entityTag
    response.cacheControl = "no-cache"
    return response
  }

  private init(openStream: @escaping @Sendable (EventStream) -> Void) {
    status = 200
    contentType = "text/event-stream"
    self.openStream = openStream
  }

  /// An endless answer of Server-Sent Events.
  ///
  /// - Parameter open: Called on one of the server's threads with the stream, before the answer's first byte
  ///   is sent. It should hand the stream to whoever writes to it, and may write itself. It is not called for
  ///   a HEAD request, nor when there are as many streams as may be, which is answered 503.
  public static func events(_ open: @escaping @Sendable (EventStream) -> Void) -> HTTPResponse {
    HTTPResponse(openStream: open)
  }

  /// An answer that says what is wrong, as `application/problem+json` (RFC 9457).
  ///
  /// - Parameters:
  ///   - status: 400 and such.
  ///   - code: For programs: stable, lower case, with hyphens.
  ///   - detail: For people: names the thing and the remedy.
  ///   - members: More members with strings, such as where else to ask.
  public static func problem(
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

  /// The answer to a head that cannot be taken. Nothing that follows it on the connection is read.
  static func refusal(_ fault: HTTPHeadFault) -> HTTPResponse {
    var response = problem(status: fault.status, code: fault.code, detail: fault.detail)
    response.headers = [HTTPField("Connection", "close")]
    return response
  }
}
