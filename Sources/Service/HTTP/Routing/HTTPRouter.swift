/// Which handler answers which request.
///
/// ```swift
/// var router = HTTPRouter()
/// router.add(.get, "/rooms/{room}", produces: ["application/json"]) { request in
///   guard let room = rooms[request.parameters["room"]] else { return … }
///   return HTTPResponse(contentType: "application/json", content: room.content, entityTag: room.version)
/// }
/// ```
public struct HTTPRouter: Sendable {
  /// Answers a request, on one of the server's few threads.
  ///
  /// It must not block, nor take long: everybody else whose connection is on that thread waits meanwhile.
  /// Take what is there already, such as an ``HTTPContent`` behind a mutex.
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
  ///   - method: HEAD comes with GET.
  ///   - path: Begins with a slash; parts in braces are parameters: `/rooms/{room}`. A part that is written
  ///     out is preferred to a parameter, whichever was added first. A slash at the end counts.
  ///   - produces: The media types that the handler can answer with, best first; it is told which one to
  ///     take. Who accepts none of them is answered 406. Empty if that should not be looked at.
  ///   - isOpen: Whether no token is needed even if the server has one, such as for a probe.
  ///   - handler: Answers.
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

  /// What there is for a method and a path.
  enum Match {
    case route(HTTPRoute, method: HTTPMethod, parameters: [String: String])
    /// The path is there, but not with this method; the methods that are, as `Allow` lists them.
    case otherMethods(String)
    case nothing
  }

  /// - Parameters:
  ///   - method: As it was sent.
  ///   - path: Decoded parts.
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
