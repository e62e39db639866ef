/// A request as it was sent, before its content.
struct HTTPRequestHead: Sendable {
  var method: String
  /// Without the query; nil if it was not UTF-8.
  var path: String?
  /// Percent-encoded; nil if it was not UTF-8.
  var query: [HTTPField]?
  /// What is not UTF-8 in values is replaced.
  var headers: [HTTPField] = []
  var clientAddress = ""
  /// Whether it is a request of HTTP/1.0.
  var isHTTP10 = false

  func header(_ name: String) -> String? {
    headers.first(named: name)
  }

  /// Whether content follows.
  var hasContent: Bool {
    header("Transfer-Encoding") != nil || header("Content-Length").map { $0 != "0" } ?? false
  }
}
