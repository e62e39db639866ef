internal import CMicrohttpd

/// A request as sent, without its content.
struct HTTPRequestHead: Sendable {
  var method: String
  /// The path without the query; nil if it was not UTF-8.
  var path: String?
  /// The query, percent-encoded; nil if it was not UTF-8.
  var query: [HTTPField]?
  /// The header fields. Invalid UTF-8 in values is replaced.
  var headers: [HTTPField] = []
  /// Whether the request is HTTP/1.0.
  var isHTTP10 = false

  func header(_ name: String) -> String? {
    headers.value(named: name)
  }

  /// Whether content follows.
  var hasContent: Bool {
    header("Transfer-Encoding") != nil || header("Content-Length").map { $0 != "0" } ?? false
  }
}

extension HTTPRequestHead {
  /// Copies libmicrohttpd's parsed fields, which are valid only until the response is sent.
  init(_ connection: OpaquePointer, method: String, path: String?, isHTTP10: Bool) {
    self.init(method: method, path: path, query: [], isHTTP10: isHTTP10)
    for kind in [MHD_ValueKind.HEADER_KIND, .GET_ARGUMENT_KIND] {
      withUnsafeMutablePointer(to: &self) { head in
        _ = MHD_get_connection_values_n(
          connection,
          kind,
          { @Sendable head, kind, name, nameSize, value, valueSize in
            head?.assumingMemoryBound(to: HTTPRequestHead.self).pointee.add(
              kind,
              name: UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameSize),
              value: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueSize)
            )
            return .YES
          },
          head
        )
      }
    }
  }

  fileprivate mutating func add(
    _ kind: MHD_ValueKind,
    name: UnsafeRawBufferPointer,
    value: UnsafeRawBufferPointer
  ) {
    guard kind == .GET_ARGUMENT_KIND else {
      headers.append(HTTPField(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
      return
    }
    if let name = String(validating: name, as: UTF8.self),
      let value = String(validating: value, as: UTF8.self)
    {
      query?.append(HTTPField(name, value))
    } else {
      query = nil
    }
  }
}
