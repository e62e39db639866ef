import Glibc
import HTTPTestSupport
import Service
import Testing

@Suite struct HTTPLimitTests {
  private func server(_ change: (inout HTTPServerConfiguration) throws -> Void) throws -> HTTPTestServer {
    try HTTPTestServer(change) { router in
      router.add(.get, "/") { _ in HTTPResponse(contentType: "text/plain", content: HTTPContent("hello")) }
    }
  }

  @Test(arguments: [true, false])
  func aConnectionTooManyIsToldToComeLater(perAddress: Bool) throws {
    let server = try server {
      if perAddress { $0.maxConnectionsPerAddress = 2 } else { $0.maxConnections = 2 }
      $0.retryAfterSeconds = 7
    }
    let clients = try (0..<2).map { _ in try server.connect() }
    for client in clients {
      try client.request("GET /")
      #expect(try client.response().text == "hello")
    }
    let late = try server.connect()
    try late.request("GET /")
    let response = try late.response()
    #expect(response.status == 503)
    #expect(response["Retry-After"] == "7")
    #expect(
      response.text.contains(perAddress ? "2 connections from 127.0.0.1 are open" : "2 connections are open")
    )
    #expect(late.isAtEnd())
    // Those that were there are not touched.
    try clients[0].request("GET /")
    #expect(try clients[0].response().text == "hello")
    // When one goes there is room for another.
    clients[1].end()
    while server.server.counters.openConnections > 1 { sched_yield() }
    #expect(try server.ask("GET /").text == "hello")
  }

  @Test func farMoreConnectionsAreNotEvenAnswered() throws {
    let server = try server { $0.maxConnectionsPerAddress = 1 }
    // All of the reserve is told, and those above are closed; none waits.
    let clients = try (0..<100).map { _ in try server.connect() }
    for client in clients { try? client.request("GET /") }
    let statuses = clients.map { try? $0.response().status }
    #expect(statuses.filter { $0 == 200 }.count == 1)
    #expect(statuses.contains(503))
    #expect(server.server.counters.openConnections <= 65)
  }

  @Test func aConnectionOnWhichNothingMovesIsClosed() throws {
    let server = try server { $0.idleTimeoutSeconds = 1 }
    let silent = try server.connect()
    let half = try server.connect()
    try half.send("GET / HTTP/1.1\r\nHos")
    #expect(silent.isAtEnd())
    _ = try? half.response()
    #expect(half.isAtEnd())
    while server.server.counters.openConnections > 0 { sched_yield() }
  }

  @Test func stoppingAnswersWhatHasBegun() throws {
    let entered = BlockingFlag()
    let mayReturn = BlockingFlag()
    let server = try HTTPTestServer { router in
      router.add(.get, "/slow") { _ in
        entered.set()
        mayReturn.wait()
        return HTTPResponse(contentType: "text/plain", content: HTTPContent("done"))
      }
    }
    let client = try server.connect()
    try client.request("GET /slow")
    entered.wait()
    let stopped = BlockingFlag()
    // Stopping blocks: not on the pool that runs the tests.
    let worker = WorkerThread(name: "stopper")
    let running = server.server
    Task(executorPreference: worker) {
      running.stop(withinMilliseconds: 60_000)
      stopped.set()
    }
    // Until connections are no longer accepted, the stop has not begun.
    while (try? server.connect()) != nil { sched_yield() }
    mayReturn.set()
    #expect(try client.response().text == "done")
    stopped.wait()
    worker.stop()
    #expect(client.isAtEnd())
    // A second time does nothing.
    #expect(server.server.stop(withinMilliseconds: 0))
  }
}
