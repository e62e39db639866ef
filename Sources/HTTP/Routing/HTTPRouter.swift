/// Maps paths and methods to handlers.
///
/// ```swift
/// var router = HTTPRouter()
/// router.add("/rooms/{room}", produces: ["application/json"]) { request in
///   guard let room = rooms[request.parameters["room"]] else { return … }
///   return HTTPResponse(contentType: "application/json", content: room.content, entityTag: room.version)
/// }
/// ```
package struct HTTPRouter: Sendable {
  /// Answers a request on one of the server's few threads.
  ///
  /// It must not block or take long, because all other connections on that thread wait. Return existing content, such
  /// as an ``HTTPContent`` protected by a mutex. It may throw an ``HTTPRefusing``.
  package typealias Handler = @Sendable (HTTPRequest) throws -> HTTPResponse

  private var routes: [HTTPRoute] = []

  package init() {}

  /// Adds a route.
  ///
  /// - Parameters:
  ///   - path: begins with a slash. Segments in braces are parameters: `/rooms/{room}`. Of patterns that
  ///     match the same path, the first counts. A trailing slash matters.
  ///   - method: GET answers HEAD as well, without the content.
  ///   - produces: the media types that the handler can produce, best first; the request has the chosen one. A client
  ///     that accepts none of them receives 406. Empty to ignore what the client accepts.
  ///   - isOpen: whether no token is needed even if the server has one, for example for probes.
  ///   - contentBytes: the maximum size of a request's content; 0 forbids content.
  ///   - handler: answers the requests.
  package mutating func add(
    _ path: String,
    method: HTTPMethod = .get,
    produces: [String] = [],
    isOpen: Bool = false,
    contentBytes: Int = 0,
    handler: @escaping Handler
  ) {
    let pattern = PathPattern(path)
    precondition(
      !routes.contains { $0.pattern == pattern && $0.method == method },
      "\(method.rawValue) \(path) is there already"
    )
    routes.append(
      HTTPRoute(
        pattern: pattern,
        method: method,
        produces: produces,
        isOpen: isOpen,
        contentBytes: contentBytes,
        handler: handler
      )
    )
  }

  /// The routes for a path, one for each method, and its parameters' values; nil if there is none.
  ///
  /// - Parameter path: the decoded segments.
  func match(_ path: [String]) -> (routes: [HTTPRoute], parameters: [String: String])? {
    for route in routes {
      guard let parameters = route.pattern.match(path) else { continue }
      return (routes.filter { $0.pattern == route.pattern }, parameters)
    }
    return nil
  }
}

/// The methods that routes can have.
package enum HTTPMethod: String, Sendable {
  case get = "GET"
  case post = "POST"
  case patch = "PATCH"
  case delete = "DELETE"
}

/// The handler for one path pattern and method.
struct HTTPRoute: Sendable {
  let pattern: PathPattern
  let method: HTTPMethod
  let produces: [String]
  let isOpen: Bool
  let contentBytes: Int
  let handler: HTTPRouter.Handler

  /// The methods of the route.
  var methods: [String] { method == .get ? ["GET", "HEAD"] : [method.rawValue] }
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

  /// The maximum number of segments of a pattern.
  private static let mostParts = 16

  /// Splits a path into segments and decodes each separately, so that an encoded slash does not split a segment. A path
  /// with more segments than a pattern can have is not split further, to limit the cost; it matches nothing.
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
      if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += "%" + (digits.count < 2 ? "0" : "") + digits
      }
    }
    return encoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
  }
}
