/// Maps requests to handlers.
///
/// ```swift
/// var router = HTTPRouter()
/// router.add(.get, "/rooms/{room}", produces: ["application/json"]) { request in
///   guard let room = rooms[request.parameters["room"]] else { return … }
///   return HTTPResponse(contentType: "application/json", content: room.content, entityTag: room.version)
/// }
/// ```
public struct HTTPRouter: Sendable {
  /// Answers a request on one of the server's few threads.
  ///
  /// It must not block or take long, because all other connections on that thread wait. Return existing content, such
  /// as an ``HTTPContent`` protected by a mutex.
  public typealias Handler = @Sendable (HTTPRequest) -> HTTPResponse

  private struct Resource: Sendable {
    let pattern: PathPattern
    var routes: [HTTPMethod: HTTPRoute] = [:]
  }

  /// More specific patterns come first.
  private var resources: [Resource] = []

  public init() {}

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
  public mutating func add(
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
