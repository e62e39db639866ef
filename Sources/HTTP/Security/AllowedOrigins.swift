/// The origins whose pages may read responses (CORS).
package struct AllowedOrigins: Sendable, Equatable {
  private let all: Set<String>

  private static let exposed = [
    "ETag", "Location", "Retry-After", "Link", "Feedstore-Partition", "Feedstore-Other-Partitions",
    "Feedstore-Writable", "Preference-Applied",
  ].joined(separator: ", ")
  private static let requested = "Authorization, Content-Type, Last-Event-ID, If-Match, If-None-Match, Prefer"

  /// No origins.
  package init() { all = [] }

  /// Nil if the text is not a list of origins in browsers' spelling, separated by spaces.
  package init?(_ text: String) {
    all = Set(text.split(separator: " ").map { String($0) })
    guard all.allSatisfy(Self.isOrigin) else { return nil }
  }

  private static func isOrigin(_ text: String) -> Bool {
    let scheme = text.prefix { $0 != ":" }
    let rest = text.dropFirst(scheme.count)
    guard let first = scheme.first, first.isLetter, rest.hasPrefix("://"), !text.contains("*"),
      let host = HostField(String(rest.dropFirst(3)))?.host, !host.isEmpty, text == text.lowercased()
    else { return false }
    let defaults = ["http": ":80", "https": ":443"]
    return !rest.hasSuffix(":") && !rest.hasSuffix(defaults[String(scheme)] ?? ":")
  }

  var isEmpty: Bool { all.isEmpty }

  /// The origin of the page that sends a request, if it may read the response.
  func origin(_ head: HTTPRequestHead) -> String? {
    guard !all.isEmpty, let origin = head.header("Origin"), all.contains(origin) else { return nil }
    return origin
  }

  /// The headers that let the page read the response; empty for other pages.
  func fields(_ head: HTTPRequestHead) -> [HTTPField] {
    guard let origin = origin(head) else { return [] }
    return [
      HTTPField("Access-Control-Allow-Origin", origin),
      HTTPField("Access-Control-Expose-Headers", Self.exposed),
    ]
  }

  /// The answer to a browser's preflight request; nil if the request is not one.
  ///
  /// - Parameter methods: the resource's methods.
  func preflight(_ head: HTTPRequestHead, _ methods: [String]) -> HTTPResponse? {
    let isPreflight = head.method == "OPTIONS" && head.header("Access-Control-Request-Method") != nil
    guard isPreflight, origin(head) != nil else { return nil }
    var response = HTTPResponse(status: 204)
    response.headers = [
      HTTPField("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
      HTTPField("Access-Control-Allow-Headers", Self.requested),
      // The maximum that browsers accept, in seconds.
      HTTPField("Access-Control-Max-Age", "7200"),
    ]
    return response
  }
}
