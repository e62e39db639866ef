import Feed
import FeedStore
import FoundationEssentials
import HTTP
import HTTPTestSupport
import Kafka
import OperatingSystem
import Oracle
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedDaemon
@testable import FeedStatus

/// Events from HTTP clients, and the times of their answers.
struct WriteTests {
  /// A daemon with HTTP on a separate cluster. Requests block separate threads.
  private final class Writing: Sendable {
    let ground: Ground
    private let stop = StopRequest()
    private let thread = WorkerThread(name: "writing")
    private let otherThread = WorkerThread(name: "waiting")
    private let running: Task<DaemonReport, any Error>
    private let port: Int

    init(_ change: (inout FeedStoreConfiguration) -> Void = { _ in }) async throws {
      var ground = try Ground()
      ground.configuration.http.isEnabled = true
      ground.configuration.http.server.port = 0
      ground.configuration.http.takesWrites = true
      ground.configuration.store.coalescing.windowMilliseconds = 1
      change(&ground.configuration)
      self.ground = ground
      let (urls, continuation) = AsyncStream<String>.makeStream()
      let daemon = ground.daemon(stop: stop) { event in
        if case .serving(let url) = event { continuation.yield(url) }
      }
      running = Task { try await daemon.run() }
      var iterator = urls.makeAsyncIterator()
      port = try #require(Int(await iterator.next()?.split(separator: ":").last ?? ""))
      // Its worker owns the partition.
      while try await ask("GET /readyz").status != 200 {}
    }

    func end() async throws {
      stop.request()
      _ = try await running.value
      thread.stop()
      otherThread.stop()
      ground.cluster.stop()
    }

    /// - Parameter isBeside: whether other requests must not wait for it.
    func ask(
      _ line: String,
      _ headers: String...,
      body: String? = nil,
      isBeside: Bool = false
    ) async throws -> HTTPTestResponse {
      try await withTaskExecutorPreference(isBeside ? otherThread : thread) { @concurrent in
        let client = try HTTPTestClient(port: self.port)
        let fields = headers.map { $0 + "\r\n" }.joined()
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        try client.send("\(line) HTTP/1.1\r\nHost: localhost\r\n\(fields)\(length)\r\n\(body ?? "")")
        return try client.response()
      }
    }

    /// Sends events of a feed, and waits until they are published.
    func write(_ events: String, to feed: String = "a", waits: Bool = true) async throws -> HTTPTestResponse {
      let path = "POST /v1/feeds/\(PercentEncoding.encode(feed))/events"
      return waits ? try await ask(path, "Prefer: wait=600", body: events) : try await ask(path, body: events)
    }
  }

  private struct Answer: Decodable, Equatable {
    var feed = "a"
    var topic = "feeds.items"
    var partition = 0
    var offset: Int64
    var epoch: String?
    var revision: UInt64?
    var changed: Bool?
    var code: String?
  }

  private static func answer(_ response: HTTPTestResponse) throws -> Answer {
    try JSONDecoder().decode(Answer.self, from: Data(response.body))
  }

  private static func code(_ response: HTTPTestResponse) throws -> String {
    struct Problem: Decodable { let code: String }
    return try JSONDecoder().decode(Problem.self, from: Data(response.body)).code
  }

  private static func upsert(_ item: String, in section: String? = "s") -> String {
    #"{"op":"item.upsert","item":"\#(item)"\#(section.map { #","section":"\#($0)""# } ?? "")}"#
  }

  @Test func `events are answered when they are published, with the feed's version`() async throws {
    let writing = try await Writing()
    let first = try await writing.write(Self.upsert("x"))
    #expect(first.status == 200)
    #expect(first["Preference-Applied"] == "wait=30")
    let epoch = try #require(try Self.answer(first).epoch)
    #expect(try Self.answer(first) == Answer(offset: 0, epoch: epoch, revision: 1, changed: true))
    // Several events are one record, which is applied as a whole.
    let both = try await writing.write("[\(Self.upsert("y")),\(Self.upsert("z"))]")
    #expect(try Self.answer(both) == Answer(offset: 1, epoch: epoch, revision: 2, changed: true))
    // A record without effect is covered by the published version.
    let nothing = try await writing.write(#"{"op":"item.delete","item":"unknown"}"#)
    #expect(try Self.answer(nothing) == Answer(offset: 2, epoch: epoch, revision: 2, changed: false))
    // Of several fields, the preference may be in any.
    let path = "POST /v1/feeds/a/events"
    let listed = try await writing.ask(
      path,
      "Prefer: respond-async",
      "Prefer: wait=20",
      body: Self.upsert("z")
    )
    #expect(listed.status == 200 && listed["Preference-Applied"] == "wait=20")
    // Of members with the same name, the last one counts.
    let repeated = try await writing.write(
      #"{"op":"item.upsert","item":"lost","section":"s","it\u0065m":"y"}"#
    )
    #expect(try Self.answer(repeated) == Answer(offset: 4, epoch: epoch, revision: 2, changed: true))
    let elsewhere = try await writing.write(#"{"op":"feed.delete"}"#, to: "b/ä")
    #expect(try Self.answer(elsewhere) == Answer(feed: "b/ä", offset: 5, changed: false))
    let state = try await writing.ask("GET /v1/feeds/a")
    #expect(state["ETag"] == "\"\(epoch)@2\"")
    #expect(state["Feedstore-Writable"] == "true")
    #expect(try await writing.ask("GET /v1/feeds").text.contains(#""writable":true"#))
    // A state that is requested after the answer has the write.
    for revision in 3...20 {
      #expect(try await writing.write(Self.upsert("x\(revision)")).status == 200)
      #expect(try await writing.ask("GET /v1/feeds/a")["ETag"] == "\"\(epoch)@\(revision)\"")
    }
    let deletion = try await writing.write(#"{"op":"feed.delete"}"#)
    #expect(try await writing.ask("GET /v1/feeds/a").status == 404)
    #expect(try Self.answer(deletion) == Answer(offset: 24, changed: true))
    // Later answers are the same.
    for (response, feed) in [(first, "a"), (nothing, "a"), (elsewhere, "b%2F%C3%A4"), (deletion, "a")] {
      var expected = try Self.answer(response)
      (expected.epoch, expected.revision) = (nil, nil)
      let path = "GET /v1/feeds/\(feed)/events?partition=0&offset=\(expected.offset)"
      let later = try await writing.ask(path, "Prefer: wait=20")
      #expect(later.status == 200 && later["Preference-Applied"] == "wait=20")
      #expect(try Self.answer(later) == expected)
      #expect(try await writing.ask(path).status == 202)
    }
    try await writing.end()
  }

  @Test func `the outcome of a record can be asked for before and after it is known`() async throws {
    let writing = try await Writing()
    async let early = writing.ask(
      "GET /v1/feeds/a/events?partition=0&offset=1",
      "Prefer: wait=30",
      isBeside: true
    )
    #expect(try await writing.write(Self.upsert("x")).status == 200)
    #expect(try await writing.write(Self.upsert("y"), waits: false).status == 202)
    #expect(try await writing.write(Self.upsert("z", in: nil)).status == 422)
    let path = "GET /v1/feeds/a/events"
    #expect(try await early.status == 200)
    let rejected = try await writing.ask("\(path)?partition=0&offset=2", "Prefer: wait=30")
    #expect(rejected.status == 422)
    #expect(try Self.code(rejected) == "unknown-section")
    // Not for the writer of another feed.
    let other = try await writing.ask("GET /v1/feeds/b/events?partition=0&offset=2", "Prefer: wait=30")
    #expect(other.status == 202)
    for query in ["", "?partition=0", "?offset=0", "?partition=-1&offset=0", "?partition=0&offset=x"] {
      #expect(try await writing.ask(path + query, "Prefer: wait=30").status == 400, "\(query)")
    }
    let long = "GET /v1/feeds/\(String(repeating: "a", count: 256))/events?partition=0&offset=2"
    #expect(try await writing.ask(long).status == 400)
    #expect(try await writing.ask("\(path)?partition=0&offset=7", "Prefer: wait=1").status == 202)
    try await writing.end()
  }

  @Test func `a rejection is the answer of who waits for it`() async throws {
    let writing = try await Writing()
    let rejected = try await writing.write(Self.upsert("x", in: nil))
    #expect(rejected.status == 422)
    #expect(try Self.code(rejected) == "unknown-section")
    let unawaited = try await writing.write(Self.upsert("x", in: nil), waits: false)
    #expect(unawaited.status == 202)
    #expect(try Self.answer(unawaited) == Answer(offset: 1))
    #expect(try await writing.write(Self.upsert("x")).status == 200)
    try await writing.end()
  }

  @Test func `events of the wrong form are refused as the worker would, and not written`() async throws {
    let writing = try await Writing { $0.store.limits.maxEvents = 2 }
    let refused = [
      ("", "invalid-json"), ("{", "invalid-json"), ("null", "invalid-field"), ("7", "invalid-field"),
      (#"{"op":"item.fly"}"#, "unknown-op"), (#"{"op":"item.delete"}"#, "missing-field"),
      (#"[\#(Self.upsert("x")),{"op":"item.delete","item":""}]"#, "invalid-field"),
      ("[\(Self.upsert("x")),\(Self.upsert("y")),\(Self.upsert("z"))]", "limit-exceeded"),
      (String(repeating: "[", count: 200) + String(repeating: "]", count: 200), "limit-exceeded"),
    ]
    for (events, code) in refused {
      let response = try await writing.write(events)
      #expect(response.status == 422, "\(events)")
      #expect(try Self.code(response) == code, "\(events)")
    }
    let long = try await writing.write(Self.upsert("x"), to: String(repeating: "i", count: 256))
    #expect(long.status == 422)
    #expect(try Self.answer(try await writing.write(Self.upsert("x"))).offset == 0)
    try await writing.end()
  }

  private static func patch(_ value: Int, if condition: String) -> String {
    #"{"op":"item.patch","item":"x","data":{"n":\#(value)},"if":\#(condition)}"#
  }

  @Test func `a write whose condition does not hold is refused, and says what is there`() async throws {
    let writing = try await Writing()
    let path = "POST /v1/feeds/a/events"
    let wait = "Prefer: wait=600"
    let created = try await writing.write(
      #"{"op":"item.upsert","item":"x","section":"s","data":{"n":1},"if":{"revision":0}}"#
    )
    let epoch = try #require(try Self.answer(created).epoch)
    let refused: [(String, String)] = [
      (#"{"revision":0}"#, "'if.revision' expects 0, found revision 1"),
      (#"{"item":"x","data":{"/n":2}}"#, "found the number 1"), (#"{"item":"y"}"#, "found none"),
      (#"{"absent":"x"}"#, "found one with the data"), (#"{"epoch":"e"}"#, "found \\\"\(epoch)"),
    ]
    for (condition, found) in refused {
      let response = try await writing.write(Self.patch(2, if: condition))
      #expect(response.status == 412, "\(condition)")
      #expect(try Self.code(response) == "condition-failed")
      #expect(response.text.contains(found), "\(response.text)")
    }
    // Also when it is asked for later.
    let later = try await writing.ask("GET /v1/feeds/a/events?partition=0&offset=1", wait)
    #expect(later.status == 412)
    #expect(try await writing.write(Self.patch(2, if: #"{"revision":1}"#)).status == 200)
    // With the tag of a response, compressed or not.
    let event = #" {"op":"item.patch","item":"x","data":{"n":3}}"#
    for (tag, status) in [
      ("\(epoch)@1", 412), ("other/0@2", 412), ("\(epoch)@2", 200), ("\(epoch)@2", 412),
      ("\(epoch)@3-gzip", 200),
    ] {
      let events = status == 200 && tag.hasSuffix("gzip") ? "[\(Self.upsert("z")),\(event)]" : event
      let response = try await writing.ask(path, wait, "If-Match: \"\(tag)\"", body: events)
      #expect(response.status == status, "\(tag): \(response.text)")
    }
    for tag in ["*", epoch, "\"\"", "\"\(epoch)\"", "W/\"\(epoch)@4\"", "\"\(epoch)@4\", \"\(epoch)@5\""] {
      let response = try await writing.ask(path, wait, "If-Match: \(tag)", body: event)
      #expect(response.status == 400, "\(tag)")
    }
    let match = "If-Match: \"\(epoch)@4\""
    for events in ["[]", Self.patch(4, if: #"{"item":"x"}"#)] {
      #expect(try await writing.ask(path, wait, match, body: events).status == 400)
    }
    let form = try await writing.write(Self.patch(4, if: "{}"))
    #expect(form.status == 422)
    #expect(try Self.code(form) == "invalid-field")
    try await writing.end()
  }

  @Test func `clients that increment a counter if it is what they read count as far as they succeed`()
    async throws
  {
    let writing = try await Writing()
    #expect(
      try await writing.write(#"{"op":"item.upsert","item":"x","section":"s","data":{"n":0}}"#).status == 200
    )
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<6 {
        group.addTask {
          var successes = 0
          for _ in 0..<10 {
            let state = try await writing.ask("GET /v1/feeds/a").text
            let digits = try #require(state.split(separator: "{\"n\":").last).prefix { $0.isNumber }
            let seen = try #require(Int(digits))
            let event = Self.patch(seen + 1, if: #"{"item":"x","data":{"/n":\#(seen)}}"#)
            let response = try await writing.write(event)
            #expect([200, 412].contains(response.status))
            if response.status == 200 { successes += 1 }
          }
          return successes
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(count > 0)
    #expect(try await writing.ask("GET /v1/feeds/a").text.contains("{\"n\":\(count)}"))
    try await writing.end()
  }

  @Test func `writes of many clients are all there, in the order of each`() async throws {
    let writing = try await Writing()
    try await withThrowingTaskGroup { group in
      for client in 0..<8 {
        group.addTask {
          for number in 0..<25 {
            let event = #"{"op":"item.upsert","section":"s","item":"\#(client)","data":\#(number)}"#
            let waits = number % 5 == 4
            let response = try await writing.write(event, waits: waits)
            #expect(response.status == (waits ? 200 : 202))
          }
        }
      }
      try await group.waitForAll()
    }
    var state = ""
    while !(0..<8).allSatisfy({ state.contains(#"{"id":"\#($0)","kind":"","data":24}"#) }) {
      state = try await writing.ask("GET /v1/feeds/a").text
    }
    try await writing.end()
  }

  @Test func `writing is off unless it is turned on`() async throws {
    let writing = try await Writing { $0.http.takesWrites = false }
    let response = try await writing.write(Self.upsert("x"))
    #expect(response.status == 403)
    #expect(try Self.code(response) == "writes-off")
    #expect(try await writing.ask("GET /v1/feeds/a/events?partition=0&offset=0").status == 403)
    try await writing.end()
  }

  @Test func `an instance that does not have the partition answers when the brokers have the record`()
    async throws
  {
    let ground = try ServedGround(isAssigned: false) { $0.takesWrites = true }
    try ground.cluster.createTopic("feeds.items", partitions: 1)
    let client = try ground.connect()
    try client.request("POST /v1/feeds/a/events", "Prefer: wait=600", body: Self.upsert("x"))
    let response = try await EventReader(client).response()
    #expect(response.status == 202)
    #expect(response["Preference-Applied"] == nil)
    await ground.end()
  }

  @Test func `without brokers, nothing is confirmed`() async throws {
    let ground = try ServedGround(isAssigned: false) { $0.takesWrites = true }
    ground.cluster.stop()
    let clients = try (0..<20).map { _ in try ground.connect() }
    for client in clients {
      try client.request("POST /v1/feeds/a/events", "Prefer: wait=600", body: Self.upsert("x"))
    }
    for client in clients {
      let response = try await EventReader(client).response()
      #expect(response.status == 503)
      #expect(try Self.code(response) == "not-written")
      #expect(response["Retry-After"] == "1")
    }
    await ground.end()
  }
}
