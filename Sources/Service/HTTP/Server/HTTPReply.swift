/// A response prepared for one request, after content negotiation, with all header fields. No I/O.
struct HTTPReply {
  private(set) var status: Int
  private(set) var content: HTTPContent?
  private(set) var headers: [HTTPField] = []
  let openStream: (@Sendable (EventStream) -> Void)?
  let onTransfer: (@Sendable (HTTPTransfer, Int) -> (any Sendable & AnyObject)?)?
  private var isCompressed = false

  init(_ response: HTTPResponse, to head: HTTPRequestHead) {
    status = response.status
    content = response.content
    openStream = response.openStream
    onTransfer = response.onTransfer
    headers = [
      HTTPField("Cache-Control", response.cacheControl),
      HTTPField("X-Content-Type-Options", "nosniff"),
      HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
      HTTPField("Content-Security-Policy", response.contentSecurityPolicy),
      // The same URL has other media types and a compressed form.
      HTTPField("Vary", "Accept, Accept-Encoding"),
    ]
    headers += response.headers
    if let contentType = response.contentType { headers.append(HTTPField("Content-Type", contentType)) }
    if let tag = response.entityTag, status == 200 || status == 304 {
      if let known = head.header("If-None-Match").flatMap({ EntityTag.matched(tag, by: $0) }) {
        leaveOut(known)
      } else {
        compress(head)
        headers.append(HTTPField("ETag", EntityTag.text(tag, isCompressed: isCompressed)))
      }
    } else {
      compress(head)
    }
  }

  private mutating func compress(_ head: HTTPRequestHead) {
    guard let content, content.isWorthCompressing, let accepted = head.header("Accept-Encoding"),
      QualityList(accepted).acceptsEncoding("gzip"), let compressed = content.gzipped()
    else { return }
    self.content = compressed
    isCompressed = true
    headers.append(HTTPField("Content-Encoding", "gzip"))
  }

  /// Omits the content: the client has the representation with this tag.
  private mutating func leaveOut(_ tag: String) {
    status = 304
    content = nil
    headers.removeAll { $0.name == "Content-Type" }
    headers.append(HTTPField("ETag", tag))
  }
}
