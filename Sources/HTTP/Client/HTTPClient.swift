internal import CCurl
import Glibc

/// GET requests, each over a connection of its own. They block the thread. Redirects are responses.
package enum HTTPClient {
  /// The head is all lines before the body; the redirect is an absolute URL.
  package typealias Response = (status: Int, head: String, body: [UInt8], redirect: String?)

  /// Why there is no response.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
    /// Whether no known authority signed the server's certificate, or it is for another name or time.
    package let isUntrusted: Bool

    package init(_ description: String, isUntrusted: Bool = false) {
      (self.description, self.isUntrusted) = (description, isUntrusted)
    }
  }

  private static let mostBytes = 1 << 20
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  /// - Parameters:
  ///   - url: begins with `http://` or `https://`.
  ///   - credentials: `USER:PASSWORD`, for basic authentication.
  ///   - authorities: the path of a file with certificates of authorities; the system's if it is nil.
  /// - Throws: if a complete response of at most 1 MiB does not arrive in this time.
  package static func get(
    _ url: String,
    _ headers: [HTTPField] = [],
    credentials: String? = nil,
    authorities: String? = nil,
    within milliseconds: Int64
  ) throws(Failure) -> Response {
    guard isReady, url.contains("://") else { throw Failure("not a URL of a server") }
    var fields: UnsafeMutablePointer<curl_slist>?
    for field in headers { fields = curl_slist_append(fields, "\(field.name): \(field.value)") }
    var head = feedstore_http_part_t(bytes: nil, size: 0, most: mostBytes)
    var body = head
    defer {
      curl_slist_free_all(fields)
      free(head.bytes)
      free(body.bytes)
    }
    var status = 0
    var redirect: UnsafeMutablePointer<CChar>?
    defer { free(redirect) }
    let code = feedstore_http_get(
      url,
      fields,
      credentials,
      authorities,
      Int(milliseconds),
      &head,
      &body,
      &status,
      &redirect
    )
    if code == CURLE_WRITE_ERROR { throw Failure("the answer has more than \(mostBytes) bytes") }
    guard code == CURLE_OK else {
      let isUntrusted = code == CURLE_PEER_FAILED_VERIFICATION
      throw Failure(String(cString: curl_easy_strerror(code)), isUntrusted: isUntrusted)
    }
    func bytes(_ part: feedstore_http_part_t) -> [UInt8] {
      Array(UnsafeRawBufferPointer(start: part.bytes, count: part.size))
    }
    let next = redirect.map { String(cString: $0) }
    return (status, String(decoding: bytes(head), as: UTF8.self), bytes(body), next)
  }
}
