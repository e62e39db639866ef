/// A request as sent, without its content.
struct HTTPRequestHead: Sendable {
  var method: String
  /// The path without the query; nil if it was not UTF-8.
  var path: String?
  /// The query, percent-encoded; nil if it was not UTF-8.
  var query: [HTTPField]?
  /// The header fields. Invalid UTF-8 in values is replaced.
  var headers: [HTTPField] = []
  var clientAddress = ""
  /// Whether the request is HTTP/1.0.
  var isHTTP10 = false

  func header(_ name: String) -> String? {
    headers.first(named: name)
  }

  /// Whether content follows.
  var hasContent: Bool {
    header("Transfer-Encoding") != nil || header("Content-Length").map { $0 != "0" } ?? false
  }
}
