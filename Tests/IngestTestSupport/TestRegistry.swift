import Foundation
import HTTP
import Synchronization

/// A registry of schemas of Avro.
public final class TestRegistry {
  private struct State {
    var schemas: [Int: String] = [:]
    var authorization: String?
    var status: Int?
    var requests = 0
  }

  private let state: StateBox
  private let server: HTTPServer

  private final class StateBox: Sendable {
    let state = Mutex(State())
  }

  public init() throws {
    let box = StateBox()
    state = box
    var configuration = HTTPServerConfiguration()
    configuration.threads = 1
    var router = HTTPRouter()
    router.add("/schemas/ids/{id}", produces: ["application/json"]) { request in
      box.state.withLock { state in
        state.requests += 1
        if let status = state.status { return HTTPResponse(status: status) }
        guard request.header("Authorization") == state.authorization else { return HTTPResponse(status: 401) }
        guard let schema = request.parameters["id"].flatMap({ Int($0) }).flatMap({ state.schemas[$0] }) else {
          return HTTPResponse(status: 404)
        }
        let body = try! JSONSerialization.data(withJSONObject: ["schema": schema])
        return HTTPResponse(contentType: "application/json", content: HTTPContent(Array(body)))
      }
    }
    server = try HTTPServer(configuration, router: router)
  }

  deinit { server.stop(withinMilliseconds: 0) }

  public var schemas: [Int: String] {
    get { state.state.withLock(\.schemas) }
    set { state.state.withLock { $0.schemas = newValue } }
  }
  /// The header that requests must have.
  public var authorization: String? {
    get { state.state.withLock(\.authorization) }
    set { state.state.withLock { $0.authorization = newValue } }
  }
  /// Of all responses; nil if they depend on the request.
  public var status: Int? {
    get { state.state.withLock(\.status) }
    set { state.state.withLock { $0.status = newValue } }
  }
  public var requests: Int { state.state.withLock(\.requests) }
  public var url: String { "http://127.0.0.1:\(server.port)/" }
}
