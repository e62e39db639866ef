import FeedTestSupport
import Glibc
import HTTPTestSupport
import Synchronization
import Testing

@testable import HTTP

@Suite struct EventStreamTests {
  /// The streams that were opened, in order.
  private final class Opened: Sendable {
    private let streams = Mutex<[EventStream]>([])

    func add(_ stream: EventStream) {
      streams.withLock { $0.append(stream) }
    }

    var all: [EventStream] { streams.withLock { $0 } }
  }

  private func server(
    _ opened: Opened,
    _ change: (inout HTTPServerConfiguration) throws -> Void = { _ in }
  ) throws -> HTTPTestServer {
    try HTTPTestServer(change) { router in
      router.add("/events", produces: ["text/event-stream"]) { request in
        .events { stream in
          if let last = request.header("Last-Event-ID") {
            _ = stream.write(EncodedEvent(data: Array("after \(last)".utf8)))
          }
          opened.add(stream)
        }
      }
      router.add("/other") { _ in HTTPResponse(contentType: "text/plain", content: HTTPContent("other"))
      }
    }
  }

  /// A client with an open stream.
  private func follow(_ server: HTTPTestServer, receiveBufferBytes: Int32? = nil) throws -> HTTPTestClient {
    let client = try server.connect(receiveBufferBytes: receiveBufferBytes)
    try client.request("GET /events", "Accept: text/event-stream")
    let head = try client.head()
    #expect(head.status == 200)
    #expect(head["Content-Type"] == "text/event-stream")
    #expect(try client.chunk() == "retry: 3000\n\n")
    return client
  }

  /// A server with one open stream.
  private func openStream(
    receiveBufferBytes: Int32? = nil,
    _ change: (inout HTTPServerConfiguration) throws -> Void = { _ in }
  ) throws -> (server: HTTPTestServer, client: HTTPTestClient, stream: EventStream) {
    let opened = Opened()
    let server = try server(opened, change)
    let client = try follow(server, receiveBufferBytes: receiveBufferBytes)
    return (server, client, try #require(opened.all.first))
  }

  private func event(_ text: String) -> EncodedEvent {
    EncodedEvent(data: Array(text.utf8))
  }

  @Test func `messages arrive in the order in which they were written`() throws {
    let (server, client, stream) = try openStream()
    for number in 0..<100 {
      #expect(stream.write(event(String(number))) == .queued)
      #expect(try client.chunks(through: "\n\n") == "data: \(number)\n\n")
    }
    for number in 0..<1000 { #expect(stream.write(event(String(number))) == .queued) }
    #expect(
      try client.chunks(through: "data: 999\n\n") == (0..<1000).map { "data: \($0)\n\n" }.joined()
    )
    #expect(server.server.counters.queuedEvents == 1100)
    #expect(server.server.counters.openStreams == 1)
  }

  @Test func `a client that reconnects sends its last event id`() throws {
    let client = try server(Opened()).connect()
    try client.request("GET /events", "Last-Event-ID: 7")
    #expect(try client.head().status == 200)
    #expect(try client.chunks(through: "after 7\n\n") == "retry: 3000\n\ndata: after 7\n\n")
  }

  @Test func `a closed stream ends after its queued messages`() throws {
    let (server, client, stream) = try openStream()
    let ends = Atomic(0)
    stream.onEnd { ends.add(1, ordering: .relaxed) }
    #expect(stream.write(event("last")) == .queued)
    stream.close()
    #expect(stream.write(event("late")) == .closed)
    #expect(stream.replaceQueued(with: event("late")) == .closed)
    #expect(try client.chunks(through: "\n\n") == "data: last\n\n")
    #expect(try client.chunk() == "")
    // Another request could have a larger head than the connection has room for.
    #expect(client.isAtEnd())
    #expect(ends.load(ordering: .relaxed) == 1)
    #expect(stream.hasEnded)
    #expect(server.server.counters.openStreams == 0)
  }

  @Test func `a client that reads late receives everything before the end`() throws {
    let (server, client, stream) = try openStream(receiveBufferBytes: 4096) { $0.socketBytes = 4096 }
    let texts = (0..<40).map { "\($0) " + String(repeating: "x", count: 20_000) }
    for text in texts { #expect(stream.write(event(text)) == .queued) }
    stream.close()
    let text = try client.content(until: "data: \(texts.last ?? "")\n\n")
    // Not compared in the expectation, which would print them.
    let isWhole = String(decoding: text, as: UTF8.self) == texts.map { "data: \($0)\n\n" }.joined()
    #expect(isWhole)
    #expect(try client.chunk() == "")
    try server.wait { $0.openStreams == 0 }
  }

  @Test func `a client that reads nothing for too long is disconnected`() throws {
    let (server, client, stream) = try openStream(receiveBufferBytes: 4096) {
      $0.socketBytes = 4096
      $0.idleTimeoutSeconds = 1
      $0.heartbeatMilliseconds = 40
    }
    let gone = BlockingFlag()
    stream.onEnd { gone.set() }
    while stream.write(event(String(repeating: "x", count: 10_000))) == .queued {}
    gone.wait()
    try server.wait { $0.openConnections == 0 }
    _ = client
  }

  @Test func `a client of HTTP 1.0 receives messages without chunks`() throws {
    let opened = Opened()
    let client = try server(opened).connect()
    try client.send("GET /events HTTP/1.0\r\n\r\n")
    #expect(try client.head()["Transfer-Encoding"] == nil)
    let stream = try #require(opened.all.first)
    for number in 0..<3 { #expect(stream.write(event("\(number)")) == .queued) }
    stream.close()
    #expect(try client.rest() == "retry: 3000\n\ndata: 0\n\ndata: 1\n\ndata: 2\n\n")
  }

  /// Field names and values are as long as heads may have.
  @Test func `a stream is served whatever the size of the head, and after other requests`() throws {
    let opened = Opened()
    let server = try server(opened) { $0.maxConnections = 200 }
    let limits = server.server.configuration.head
    let query = "?" + (0..<limits.parameters).map { "p\($0)=" }.joined(separator: "&")
    // Around the size that has a connection of its own.
    let sizes = Array(stride(from: 0, to: 5_000, by: 50)) + [12_000, limits.bytes - 200]
    for (size, count, query) in sizes.map({ ($0, 1, "") }) + [(0, limits.fields - 2, ""), (0, 1, query)] {
      let client = try server.connect()
      let fields = (0..<count).map { "X\($0): \(String(repeating: "x", count: size))\r\n" }.joined()
      try client.send("GET /events\(query) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
      #expect(try client.head().status == 200, "\(size) bytes, \(count) fields")
      #expect(try client.chunk() == "retry: 3000\n\n")
      let stream = try #require(opened.all.last)
      #expect(stream.write(event("one")) == .queued)
      #expect(try client.chunks(through: "\n\n") == "data: one\n\n")
    }
    let client = try server.connect()
    #expect(try client.ask("GET /other").text == "other")
    try client.request("GET /events", "X: \(String(repeating: "x", count: limits.bytes - 200))")
    #expect(try client.head().status == 200)
    #expect(try client.chunk() == "retry: 3000\n\n")
    let stream = try #require(opened.all.last)
    stream.close()
    #expect(try client.chunk() == "")
    #expect(try client.ask("GET /other").text == "other")
  }

  @Test func `a refused stream's connection is closed`() throws {
    let client = try server(Opened()).connect()
    try client.request("GET /events", "Accept: application/json")
    let response = try client.response()
    #expect(response.status == 406)
    #expect(response["Connection"]?.lowercased() == "close")
    #expect(client.isAtEnd())
  }

  @Test func `an idle stream sends heartbeats`() throws {
    let (_, client, _) = try openStream { $0.heartbeatMilliseconds = 1 }
    #expect(try client.chunk() == ":\n\n")
    #expect(try client.chunk() == ":\n\n")
  }

  @Test func `a stream is idle for at most four ticks`() throws {
    let (_, client, stream) = try openStream { $0.heartbeatMilliseconds = 86_400_000 }
    for _ in 0..<3 { stream.tick() }
    #expect(stream.write(event("a")) == .queued)
    #expect(try client.chunks(through: "\n\n") == "data: a\n\n")
    for _ in 0..<3 { stream.tick() }
    #expect(stream.write(event("b")) == .queued)
    // Nothing was sent in between.
    #expect(try client.chunks(through: "\n\n") == "data: b\n\n")
    for _ in 0..<4 { stream.tick() }
    #expect(try client.chunk() == ":\n\n")
    for _ in 0..<4 { stream.tick() }
    #expect(try client.chunk() == ":\n\n")
  }

  @Test func `a HEAD request does not open a stream`() throws {
    let opened = Opened()
    let server = try server(opened)
    let response = try server.ask("HEAD /events")
    #expect(response.status == 200)
    #expect(response["Content-Type"] == "text/event-stream")
    #expect(opened.all.isEmpty)
    #expect(try server.ask("GET /events", "Accept: application/json").status == 406)
  }

  @Test(arguments: ["GET", "HEAD"])
  func `proxies are told not to delay a stream`(method: String) throws {
    let client = try server(Opened()).connect()
    try client.request("\(method) /events", "Accept-Encoding: gzip")
    let head = try client.head()
    #expect(head["X-Accel-Buffering"] == "no")
    #expect(head["Cache-Control"] == "no-store, no-transform")
    #expect(head["Content-Encoding"] == nil)
  }

  @Test func `streams above the limit are answered with 503`() throws {
    let opened = Opened()
    let server = try server(opened) { $0.maxStreams = 2 }
    let clients = try (0..<2).map { _ in try follow(server) }
    let response = try server.ask("GET /events")
    #expect(response.status == 503)
    #expect(response["Retry-After"] == "5")
    #expect(response.text.contains("too-many-streams"))
    // After one has ended, there is room again.
    let stream = try #require(opened.all.first)
    let gone = BlockingFlag()
    stream.onEnd { gone.set() }
    clients[0].end()
    gone.wait()
    try server.wait { $0.openStreams <= 1 }
    _ = try follow(server)
    _ = clients[1]
  }

  @Test func `the owner is notified when the client disconnects`() throws {
    let (_, client, stream) = try openStream()
    let gone = BlockingFlag()
    stream.onEnd { gone.set() }
    // Nothing is written, so no write can fail: the watcher detects the end.
    client.end()
    gone.wait()
    #expect(stream.write(event("late")) == .closed)
    // A later request is answered at once.
    let ends = Atomic(0)
    stream.onEnd { ends.add(1, ordering: .relaxed) }
    #expect(ends.load(ordering: .relaxed) == 1)
  }

  @Test func `a full queue rejects messages and can be replaced`() throws {
    let (server, client, stream) = try openStream(receiveBufferBytes: 4096) {
      $0.maxStreamQueueBytes = 100_000
      $0.socketBytes = 4096
    }
    let padding = String(repeating: "x", count: 10_000)
    // The client reads nothing, so all buffers fill up eventually.
    var written = 0
    while stream.write(event("\(written) \(padding)")) == .queued { written += 1 }
    #expect(stream.queuedBytes <= 100_000)
    #expect(server.server.counters.refusedEvents == 1)
    #expect(!stream.hasEnded)
    // Larger than the queue's limit, but accepted.
    let reload = "reload " + String(repeating: "y", count: 200_000)
    #expect(stream.replaceQueued(with: event(reload)) == .queued)
    #expect(stream.queuedBytes < 200_000 + 2 * 10_020)
    // The queue has its usual limit for later messages.
    var behind = 0
    while stream.write(event("behind \(behind) \(padding)")) == .queued { behind += 1 }
    #expect(behind == 9)

    let text = try client.content(until: "behind 8 \(padding)\n\n")
    let messages = String(decoding: text, as: UTF8.self).split(separator: "\n\n").map(String.init)
    // The message that had begun is complete, the queued ones are gone; the replacement and later messages follow.
    let begun = messages.prefix { !$0.hasPrefix("data: reload") }
    let expected =
      (0..<begun.count).map { "data: \($0) \(padding)" } + ["data: " + reload]
      + (0..<behind).map { "data: behind \($0) \(padding)" }
    // Not compared in the expectation, which would print them.
    let isWhole = messages == expected
    #expect(isWhole)
    #expect(begun.count < written)
    // Now there is room.
    try until("the queue is empty") { stream.queuedBytes == 0 }
    #expect(stream.write(event("after")) == .queued)
    #expect(try client.chunks(through: "\n\n") == "data: after\n\n")
  }

  @Test func `a writer whose message was rejected is notified when the queue is empty`() throws {
    let (_, client, stream) = try openStream(receiveBufferBytes: 4096) {
      $0.maxStreamQueueBytes = 20_000
      $0.socketBytes = 4096
    }
    // Nothing is queued, so there would be no callback.
    try until("the queue is empty") { stream.queuedBytes == 0 }
    #expect(!stream.notifyWhenDrained { Issue.record("nothing waited") })
    let padding = String(repeating: "x", count: 5000)
    let calls = Atomic(0)
    let newest = event("newest")
    // A message that was rejected before the server's thread ran may have been sent meanwhile.
    repeat {
      while stream.write(event(padding)) == .queued {}
    } while !stream.notifyWhenDrained {
      calls.add(1, ordering: .relaxed)
      #expect(stream.queuedBytes == 0)
      #expect(stream.write(newest) == .queued)
    }
    let text = try client.chunks(through: "data: newest\n\n")
    #expect(text.hasPrefix("data: xxx"))
    // Only once.
    #expect(stream.write(event("last")) == .queued)
    #expect(try client.chunks(through: "\n\n") == "data: last\n\n")
    #expect(calls.load(ordering: .relaxed) == 1)
  }

  @Test func `stopping the server ends open streams properly`() throws {
    let opened = Opened()
    let server = try server(opened)
    let clients = try (0..<10).map { _ in try follow(server) }
    for stream in opened.all { #expect(stream.write(event("last")) == .queued) }
    #expect(server.server.stop(withinMilliseconds: 60_000))
    for client in clients {
      #expect(try client.chunks(through: "\n\n") == "data: last\n\n")
      #expect(try client.chunk() == "")
      #expect(client.isAtEnd())
    }
    #expect(opened.all.allSatisfy { $0.hasEnded })
    #expect(server.server.counters.openStreams == 0)
    #expect(server.server.counters.openConnections == 0)
  }

  @Test func `stopping does not exceed its timeout for clients that read nothing`() throws {
    let (server, client, stream) = try openStream(receiveBufferBytes: 4096) { $0.socketBytes = 4096 }
    let idle = try follow(server)
    let large = event(String(repeating: "x", count: 100_000))
    while stream.write(large) == .queued {}
    #expect(!server.server.stop(withinMilliseconds: 1))
    #expect(stream.hasEnded)
    #expect(server.server.counters.openStreams == 0)
    _ = (client, idle)
  }
}
