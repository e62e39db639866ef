/// One request and its response, from the request's head until libmicrohttpd has finished with it.
///
/// Used only on its connection's thread.
final class HTTPExchange {
  let head: HTTPRequestHead
  let admission: HTTPAdmission
  /// The request body received so far.
  private(set) var body: [UInt8] = []

  init(head: HTTPRequestHead, admission: HTTPAdmission) {
    self.head = head
    self.admission = admission
  }

  /// Appends part of the body. The declared length was checked, and libmicrohttpd delivers no more than that.
  func append(_ bytes: UnsafeRawBufferPointer) {
    body.append(contentsOf: bytes)
  }

  /// The response. Calls the handler unless the request was refused.
  func response() -> HTTPResponse {
    switch admission {
    case .refused(let response): response
    case .accepted(let handler, let request): handler(request.request(body: body))
    }
  }
}
