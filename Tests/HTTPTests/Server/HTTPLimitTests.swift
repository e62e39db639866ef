import FeedTestSupport
import Glibc
import HTTP
import HTTPTestSupport
import OperatingSystem
import Synchronization
import Testing

@Suite struct HTTPLimitTests {
  private func server(_ change: (inout HTTPServerConfiguration) throws -> Void) throws -> HTTPTestServer {
    try HTTPTestServer(change) { router in
      router.add("/") { _ in HTTPResponse(contentType: "text/plain", content: HTTPContent("hello")) }
      router.add("/events", produces: ["text/event-stream"]) { _ in .events { _ in } }
      router.add("/", method: .post, contentBytes: 100) { request in
        HTTPResponse(contentType: "text/plain", content: HTTPContent(request.content))
      }
    }
  }

  /// A connection that is being answered.
  private func stream(_ server: HTTPTestServer) throws -> HTTPTestClient {
    let client = try server.connect()
    try client.request("GET /events")
    #expect(try client.head().status == 200)
    return client
  }

  @Test(arguments: [true, false])
  func `a connection above the limit is answered with 503`(perAddress: Bool) throws {
    let server = try server {
      if perAddress { $0.maxConnectionsPerAddress = 2 } else { $0.maxConnections = 2 }
      $0.retryAfterSeconds = 7
    }
    let clients = try (0..<2).map { _ in try stream(server) }
    let late = try server.connect()
    let response = try late.response()
    #expect(response.status == 503)
    #expect(response["Retry-After"] == "7")
    #expect(
      response.text.contains(perAddress ? "2 connections from 127.0.0.1 are open" : "2 connections are open")
    )
    #expect(late.isAtEnd())
    // Existing connections are not affected.
    #expect(server.server.counters.openStreams == 2)
    // When one ends, there is room for another.
    clients[1].end()
    try server.wait { $0.openStreams <= 1 }
    try until("there is room") { try server.ask("GET /").text == "hello" }
  }

  @Test func `connections far above the limit are closed without a response`() throws {
    let server = try server { $0.maxConnectionsPerAddress = 1 }
    let first = try stream(server)
    // All of the reserve receives an error, and further connections are closed; none waits.
    let clients = try (0..<100).map { _ in try server.connect() }
    let statuses = clients.map { try? $0.response().status }
    #expect(statuses.allSatisfy { $0 == 503 || $0 == nil })
    #expect(statuses.contains(503))
    #expect(server.server.counters.openConnections <= 65)
    _ = first
  }

  @Test(arguments: [true, false])
  func `incomplete requests do not block other connections`(perAddress: Bool) throws {
    // Deadlines are long, so only eviction can close connections.
    let server = try server {
      if perAddress { $0.maxConnectionsPerAddress = 8 } else { $0.maxConnections = 8 }
      $0.headMilliseconds = 3_600_000
    }
    let kept = try stream(server)
    let halves = try (0..<60).map { number in
      let client = try server.connect()
      if number % 3 == 0 { try? client.send("GET / HTTP/1.1\r\nHos") }
      if number % 3 == 1 {
        try? client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
      }
      return client
    }
    for _ in 0..<10 { #expect(try server.ask("GET /").text == "hello") }
    #expect(halves[0].isAtEnd() || (try? halves[0].response().status) == 503)
    #expect(server.server.counters.openStreams == 1)
    _ = kept
  }

  @Test func `a client with few connections is served although others take all of them`() throws {
    let content = HTTPContent([UInt8](repeating: 0, count: 32 << 20))
    let server = try HTTPTestServer {
      $0.maxConnections = 8
    } routes: { router in
      router.add("/") { _ in HTTPResponse(contentType: "text/plain", content: HTTPContent("hello")) }
      router.add("/large") { _ in HTTPResponse(contentType: "text/plain", content: content) }
    }
    let greedy = try (0..<8).map { number in
      let client = try server.connect(from: "127.0.0.\(2 + number % 2)", receiveBufferBytes: 4096)
      try client.request("GET /large")
      #expect(try client.head().status == 200)
      return client
    }
    for _ in 0..<3 { #expect(try server.ask("GET /").text == "hello") }
    // No more connections were evicted than necessary.
    #expect(server.server.counters.openConnections >= 6)
    let others = try server.connect(from: "127.0.0.2")
    for _ in 0..<3 { #expect(try server.ask("GET /").text == "hello") }
    _ = (greedy, others)
  }

  @Test func `a client with few streams gets one although another has all of them`() throws {
    let server = try server { $0.maxStreams = 4 }
    let greedy = try (0..<4).map { _ in
      let client = try server.connect(from: "127.0.0.2")
      try client.request("GET /events")
      #expect(try client.head().status == 200)
      return client
    }
    let own = try stream(server)
    let another = try stream(server)
    // The two oldest have ended, after the message at the begin of a stream.
    for client in greedy[..<2] {
      _ = try client.chunk()
      #expect((try? client.chunk())?.isEmpty ?? true)
    }
    // Both have two now.
    for source in ["127.0.0.1", "127.0.0.2"] {
      let client = try server.connect(from: source)
      let response = try client.ask("GET /events")
      #expect(response.status == 503 && response.text.contains("too-many-streams"))
    }
    try server.wait { $0.openStreams <= 4 }
    _ = (own, another)
  }

  @Test func `the system buffers little for a client that does not read`() throws {
    let server = try server { $0.socketBytes = 50_000 }
    let client = try stream(server)
    // The server's side of the connection is a descriptor of this process.
    let ends = (0..<OpenFiles.allow(1024)).compactMap { number -> Int32? in
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isSocket = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(Int32(number), $0, &size) == 0 }
      }
      let isServer =
        isSocket && address.sin_family == AF_INET
        && Int(UInt16(bigEndian: address.sin_port)) == server.server.port
      return isServer ? Int32(number) : nil
    }
    // The one that listens, and the connection.
    #expect(ends.count == 2)
    for end in ends {
      var bytes: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, &size)
      #expect(bytes == 100_000)
      getsockopt(end, SOL_SOCKET, SO_RCVBUF, &bytes, &size)
      #expect(bytes == 8 * server.server.configuration.head.bytes)
    }
    _ = client
  }

  @Test func `idle connections make room`() throws {
    let server = try server { $0.maxConnections = 2 }
    let clients = try (0..<2).map { _ in
      let client = try server.connect()
      #expect(try client.ask("GET /").text == "hello")
      return client
    }
    // They are idle once the server has finished their responses.
    try until("a connection makes room") { try server.ask("GET /").status != 503 }
    #expect(server.server.counters.openStreams == 0)
    _ = clients
  }

  @Test func `a head that is incomplete at its deadline closes the connection`() throws {
    let server = try server { $0.headMilliseconds = 2000 }
    let silent = try server.connect()
    let half = try server.connect()
    try half.send("GET / HTTP/1.1\r\nHos")
    #expect(silent.isAtEnd())
    let response = try half.response()
    #expect(response.status == 408)
    #expect(response.text.contains("head-too-slow"))
    #expect(half.isAtEnd())
    // A head that arrives byte by byte, so slowly that it is never complete, does not keep it open either.
    let trickling = try server.connect()
    try trickling.send("GET / HTTP/1.1\r\nA: ")
    while (try? trickling.send("x")) != nil { usleep(1000) }
    try server.wait { $0.openConnections == 0 }
  }

  @Test func `the deadline also applies to later requests`() throws {
    let server = try server { $0.headMilliseconds = 2000 }
    let client = try server.connect()
    #expect(try client.ask("GET /").text == "hello")
    try client.send("GET / HTTP/1.1\r\nHos")
    #expect(client.isAtEnd())
    try server.wait { $0.openConnections == 0 }
  }

  @Test func `content must be complete as soon as a head`() throws {
    let server = try server { $0.headMilliseconds = 2000 }
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
    let client = try server.connect()
    try client.send(head)
    try client.send(String(repeating: "x", count: 100))
    #expect(try client.response().body.count == 100)
    try client.send(head)
    // Content that arrives so slowly that it is not complete at the deadline.
    while (try? client.send("x")) != nil { usleep(100_000) }
    try server.wait { $0.openConnections == 0 }
  }

  @Test func `a connection that is idle too long is closed`() throws {
    let server = try server { $0.idleTimeoutSeconds = 1 }
    let client = try server.connect()
    #expect(try client.ask("GET /").text == "hello")
    #expect(client.isAtEnd())
    try server.wait { $0.openConnections == 0 }
  }

  @Test func `a response that is not read in time closes the connection`() throws {
    let content = HTTPContent([UInt8](repeating: 0, count: 32 << 20))
    let server = try HTTPTestServer {
      $0.answerMilliseconds = 50
      $0.answerBytesPerSecond = 1 << 40
    } routes: { router in
      router.add("/") { _ in HTTPResponse(contentType: "text/plain", content: content) }
    }
    let client = try server.connect(receiveBufferBytes: 4096)
    try client.request("GET /")
    try server.wait { !$0.requestsByStatus.isEmpty }
    try server.wait { $0.openConnections == 0 }
    #expect(throws: HTTPTestClient.Failure.self) { try client.response() }
  }

  @Test func `abandoned content ends within the response`() throws {
    let transfers = Mutex<[HTTPTransfer]>([])
    let content = HTTPContent([UInt8](repeating: 0, count: 32 << 20))
    let server = try HTTPTestServer { router in
      router.add("/") { _ in
        var response = HTTPResponse(contentType: "text/plain", content: content)
        response.onTransfer = { transfer, count in
          #expect(count == 32 << 20)
          transfers.withLock { $0.append(transfer) }
          return nil
        }
        return response
      }
    }
    let whole = try server.connect()
    #expect(try whole.ask("GET /").body.count == 32 << 20)
    try whole.request("HEAD /")
    #expect(try whole.response(isHead: true)["Content-Length"] == String(32 << 20))
    let count = transfers.withLock(\.count)
    #expect(count == 1)
    let cut = try server.connect(receiveBufferBytes: 4096)
    try cut.request("GET /")
    try until("the second response begins") { transfers.withLock(\.count) == 2 }
    let last = transfers.withLock(\.last)
    let transfer = try #require(last)
    #expect(transfer.remainingBytes > 0)
    transfer.cut()
    #expect(transfer.remainingBytes == 0)
    #expect(throws: HTTPTestClient.Failure.self) { try cut.response() }
  }

  @Test func `stopping finishes responses that have begun`() throws {
    let entered = BlockingFlag()
    let mayReturn = BlockingFlag()
    let server = try HTTPTestServer { router in
      router.add("/slow") { _ in
        entered.set()
        mayReturn.wait()
        return HTTPResponse(contentType: "text/plain", content: HTTPContent("done"))
      }
    }
    let client = try server.connect()
    try client.request("GET /slow")
    entered.wait()
    let stopped = BlockingFlag()
    // Stopping blocks, so it must not run on the pool that runs the tests.
    let worker = WorkerThread(name: "stopper")
    let running = server.server
    Task(executorPreference: worker) {
      running.stop(withinMilliseconds: 60_000)
      stopped.set()
    }
    // Stopping has begun once connections are refused.
    try until("connections are refused") { (try? server.connect()) == nil }
    mayReturn.set()
    #expect(try client.response().text == "done")
    stopped.wait()
    worker.stop()
    #expect(client.isAtEnd())
    // A second stop does nothing.
    #expect(server.server.stop(withinMilliseconds: 0))
  }
}
