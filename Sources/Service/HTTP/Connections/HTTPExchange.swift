/// One request and its answer, from the request's head until libmicrohttpd is done with it.
///
/// Belongs to its connection's thread, and is touched by no other.
final class HTTPExchange {
  let head: HTTPRequestHead
  let admission: HTTPAdmission
  /// The content so far.
  private(set) var body: [UInt8] = []

  init(head: HTTPRequestHead, admission: HTTPAdmission) {
    self.head = head
    self.admission = admission
  }

  /// Takes a part of the content. All of it is at most as long as its head said, which was checked.
  func append(_ bytes: UnsafeRawBufferPointer) {
    body.append(contentsOf: bytes)
  }

  /// The answer. Calls the handler if there is one for the request.
  func response() -> HTTPResponse {
    switch admission {
    case .refused(let response): response
    case .accepted(let handler, let request): handler(request.request(body: body))
    }
  }
}
