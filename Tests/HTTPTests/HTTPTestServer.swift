import Glibc
import HTTP
import HTTPTestSupport
import Testing

/// A server on a free port, stopped when this object is released.
final class HTTPTestServer {
  let server: HTTPServer

  init(
    _ change: (inout HTTPServerConfiguration) throws -> Void = { _ in },
    routes: (inout HTTPRouter) -> Void
  ) throws {
    var configuration = HTTPServerConfiguration()
    // Concurrent tests should need few files and threads.
    configuration.threads = 1
    configuration.maxConnections = 64
    // Clients that read nothing must not be disconnected, however busy the machine is.
    configuration.idleTimeoutSeconds = 3600
    try change(&configuration)
    var router = HTTPRouter()
    routes(&router)
    server = try HTTPServer(configuration, router: router)
  }

  deinit { server.stop(withinMilliseconds: 0) }

  func connect(from source: String = "127.0.0.1", receiveBufferBytes: Int32? = nil) throws -> HTTPTestClient {
    let client = try HTTPTestClient(
      port: server.port,
      from: source,
      receiveBufferBytes: receiveBufferBytes
    )
    client.owner = self
    return client
  }

  /// Sends one request on its own connection.
  func ask(_ line: String, _ headers: String..., body: String? = nil) throws -> HTTPTestResponse {
    let client = try connect()
    let fields = (["Host: localhost", "Connection: close"] + headers).map { $0 + "\r\n" }.joined()
    let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
    try client.send("\(line) HTTP/1.1\r\n\(fields)\(length)\r\n\(body ?? "")")
    return try client.response(isHead: line.hasPrefix("HEAD"))
  }

  /// Waits until the counters meet a condition.
  func wait(location: SourceLocation = #_sourceLocation, until isMet: (HTTPCounters) -> Bool) throws {
    try until("the server counts as expected", location: location) { isMet(server.counters) }
  }
}

/// Waits for a condition that nothing announces. The limit of five minutes only ends a broken test.
func until(
  _ what: Comment,
  location: SourceLocation = #_sourceLocation,
  isMet: () throws -> Bool
) throws {
  let giveUp = ContinuousClock.now + .seconds(300)
  while try !isMet() {
    try #require(ContinuousClock.now < giveUp, what, sourceLocation: location)
    sched_yield()
  }
}
