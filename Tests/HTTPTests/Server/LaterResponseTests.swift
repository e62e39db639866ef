import HTTP
import HTTPTestSupport
import Synchronization
import Testing

/// Responses that are given after the handler has returned.
struct LaterResponseTests {
  /// The waiting responses, by the content of their requests.
  private final class Waiting: Sendable {
    private let all = Mutex<[String: HTTPLaterResponse]>([:])
    private let (arrivals, continuation) = AsyncStream<String>.makeStream()

    func add(_ response: HTTPLaterResponse, _ name: String) {
      all.withLock { $0[name] = response }
      continuation.yield(name)
    }

    /// Waits until so many more requests have come.
    func arrivals(_ count: Int) async {
      var left = count
      for await _ in arrivals {
        left -= 1
        if left == 0 { return }
      }
    }

    func give(_ name: String, status: Int = 200) {
      all.withLock { $0[name] }?.give(
        HTTPResponse(status: status, contentType: "text/plain", content: HTTPContent("for \(name)"))
      )
    }
  }

  private let waiting = Waiting()

  private func server() throws -> HTTPTestServer {
    try HTTPTestServer { [waiting] router in
      router.add("/wait", method: .post, contentBytes: 100) { request in
        .later { waiting.add($0, String(decoding: request.content, as: UTF8.self)) }
      }
      router.add("/at-once") { _ in
        .later { $0.give(HTTPResponse(contentType: "text/plain", content: HTTPContent("now"))) }
      }
    }
  }

  @Test func `a response can be given later, and others do not wait for it`() async throws {
    let server = try server()
    let clients = try (0..<20).map { _ in try server.connect() }
    for (number, client) in clients.enumerated() { try client.request("POST /wait", body: "\(number)") }
    await waiting.arrivals(20)
    // One thread serves all of them.
    #expect(try server.ask("GET /at-once").text == "now")
    for number in clients.indices.reversed() {
      waiting.give("\(number)", status: 202)
      // Only the first counts.
      waiting.give("\(number)", status: 200)
      let response = try clients[number].response()
      #expect(response.status == 202)
      #expect(response.text == "for \(number)")
      #expect(try clients[number].ask("GET /at-once").text == "now")
    }
    #expect(server.server.counters.requestsByStatus == [200: 21, 202: 20])
  }

  @Test func `a client that leaves while it waits is forgotten`() async throws {
    let server = try server()
    let client = try server.connect()
    try client.request("POST /wait", body: "gone")
    await waiting.arrivals(1)
    client.end()
    waiting.give("gone")
    #expect(try server.ask("GET /at-once").text == "now")
  }
}
