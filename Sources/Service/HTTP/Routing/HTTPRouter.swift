/// Maps requests to handlers.
///
/// ```swift
/// var router = HTTPRouter()
/// router.add(.get, "/rooms/{room}", produces: ["application/json"]) { request in
///   guard let room = rooms[request.parameters["room"]] else { return … }
///   return HTTPResponse(contentType: "application/json", content: room.content, entityTag: room.version)
/// }
/// ```
package struct HTTPRouter: Sendable {
  /// Answers a request on one of the server's few threads.
  ///
  /// It must not block or take long, because all other connections on that thread wait. Return existing content, such
  /// as an ``HTTPContent`` protected by a mutex.
  package typealias Handler = @Sendable (HTTPRequest) -> HTTPResponse

  private struct Resource: Sendable {
    let pattern: PathPattern
    var routes: [HTTPMethod: HTTPRoute] = [:]
  }

  /// More specific patterns come first.
  private var resources: [Resource] = []

  package init() {}

  /// Adds a route.
  ///
  /// - Parameters:
  ///   - method: GET includes HEAD.
  ///   - path: begins with a slash. Segments in braces are parameters: `/rooms/{room}`. Literal segments take
  ///     precedence over parameters, in any order of addition. A trailing slash matters.
  ///   - produces: the media types that the handler can produce, best first; the request has the chosen one. A client
  ///     that accepts none of them receives 406. Empty to ignore what the client accepts.
  ///   - isOpen: whether no token is needed even if the server has one, for example for probes.
  ///   - handler: answers the requests.
  package mutating func add(
    _ method: HTTPMethod,
    _ path: String,
    produces: [String] = [],
    isOpen: Bool = false,
    handler: @escaping Handler
  ) {
    let route = HTTPRoute(produces: produces, isOpen: isOpen, handler: handler)
    let pattern = PathPattern(path)
    if let index = resources.firstIndex(where: { $0.pattern == pattern }) {
      precondition(resources[index].routes[method] == nil, "\(method.rawValue) \(path) is there already")
      resources[index].routes[method] = route
      return
    }
    let resource = Resource(pattern: pattern, routes: [method: route])
    let index = resources.firstIndex { pattern.isMoreSpecific(than: $0.pattern) }
    resources.insert(resource, at: index ?? resources.endIndex)
  }

  /// The result of matching a method and a path.
  enum Match {
    case route(HTTPRoute, method: HTTPMethod, parameters: [String: String])
    /// The path exists, but not with this method; the other methods, as in `Allow`.
    case otherMethods(String)
    case nothing
  }

  /// - Parameters:
  ///   - method: the method as sent.
  ///   - path: the decoded segments.
  func match(_ method: String, _ path: [String]) -> Match {
    for resource in resources {
      guard let parameters = resource.pattern.match(path) else { continue }
      let method = HTTPMethod(rawValue: method == "HEAD" ? "GET" : method)
      guard let method, let route = resource.routes[method] else {
        return .otherMethods(Self.allowed(resource.routes))
      }
      return .route(route, method: method, parameters: parameters)
    }
    return .nothing
  }

  private static func allowed(_ routes: [HTTPMethod: HTTPRoute]) -> String {
    let names = HTTPMethod.allCases.filter { routes[$0] != nil }.flatMap { method in
      method == .get ? ["GET", "HEAD"] : [method.rawValue]
    }
    return names.joined(separator: ", ")
  }
}

/// The handler for one method and one path pattern.
struct HTTPRoute: Sendable {
  let produces: [String]
  let isOpen: Bool
  let handler: HTTPRouter.Handler
}

/// A path pattern with parameters: `/feeds/{feed}/items/{item}`.
struct PathPattern: Sendable, Equatable {
  private enum Part: Sendable, Equatable {
    case literal(String)
    case parameter(String)
  }

  private let parts: [Part]

  /// - Parameter text: begins with a slash. A segment in braces matches any non-empty text. An invalid pattern is a
  ///   programming error and ends the process.
  init(_ text: String) {
    precondition(text.hasPrefix("/"), "the path \(text) does not begin with a slash")
    parts = Self.parts(of: text).map { part in
      guard part.hasPrefix("{"), part.hasSuffix("}") else { return .literal(String(part)) }
      return .parameter(String(part.dropFirst().dropLast()))
    }
    precondition(parts.count <= Self.mostParts, "the path \(text) has more than \(Self.mostParts) segments")
  }

  /// The parameters' values; nil if the path does not match.
  ///
  /// - Parameter path: the percent-decoded segments.
  func match(_ path: [String]) -> [String: String]? {
    guard path.count == parts.count else { return nil }
    var parameters: [String: String] = [:]
    for (part, text) in zip(parts, path) {
      switch part {
      case .literal(let literal): guard literal == text else { return nil }
      case .parameter(let name):
        guard !text.isEmpty else { return nil }
        parameters[name] = text
      }
    }
    return parameters
  }

  /// Whether it takes precedence over another pattern: where they first differ, it has a literal.
  func isMoreSpecific(than other: PathPattern) -> Bool {
    for (first, second) in zip(parts, other.parts) {
      switch (first, second) {
      case (.literal, .parameter): return true
      case (.parameter, .literal): return false
      default: continue
      }
    }
    return false
  }

  /// The maximum number of segments of a pattern.
  private static let mostParts = 16

  /// Splits a path into segments and decodes each separately, so that an encoded slash does not split a segment. A path
  /// with more segments than a pattern can have is not split further, so that it costs little; it matches nothing.
  ///
  /// - Returns: nil if the path does not begin with a slash, or has an invalid encoding.
  static func decodedParts(of path: String) -> [String]? {
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    var decoded: [String] = []
    for part in parts(of: path) {
      guard let part = PercentEncoding.decode(part) else { return nil }
      decoded.append(part)
    }
    return decoded
  }

  private static func parts(of path: String) -> [Substring] {
    path.utf8.dropFirst()
      .split(separator: UInt8(ascii: "/"), maxSplits: mostParts, omittingEmptySubsequences: false)
      .map { Substring($0) }
  }
}

/// Percent-encoding of URLs (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// Decodes text by replacing each `%` and its two hexadecimal digits with the byte they encode.
  ///
  /// - Returns: nil if digits are missing, or the result is not UTF-8.
  static func decode(_ text: some StringProtocol) -> String? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Encodes text for a path or a query: everything except letters, digits, `-`, `.`, `_` and `~` becomes `%` and two
  /// hexadecimal digits for each UTF-8 byte.
  package static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += "%" + (digits.count < 2 ? "0" : "") + digits
      }
    }
    return encoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
