import ChangesetTestSupport
import Feed
import HTTP
import HTTPTestSupport
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedHTTP
@testable import FeedWorker

/// Changes after a version in single responses (docs/poll.md).
struct PollTests {
  private let source = ChangesetSource()

  /// The query of the next request.
  private func next(_ response: HTTPTestResponse) throws -> String {
    let link = try #require(response["Link"])
    #expect(link.hasPrefix("<?") && link.hasSuffix(">; rel=\"next\""))
    return String(link.dropFirst(2).prefix { $0 != ">" })
  }

  /// Asks on another thread, because the response may wait for the server's tasks.
  private func changes(
    _ ground: ServedGround,
    _ query: String,
    _ header: String = "X: y"
  ) throws -> EventReader {
    let client = try ground.connect()
    try client.request("GET /v1/feeds/a/changes?\(query)", header)
    return EventReader(client)
  }

  /// The response, or if it is empty because the time was over, the next one with content.
  private func response(_ ground: ServedGround, _ reader: EventReader) async throws -> HTTPTestResponse {
    var response = try await reader.response()
    while response.status == 200, response.body.isEmpty {
      #expect(try next(response).contains("cursor="))
      response = try await changes(ground, try next(response)).response()
    }
    return response
  }

  /// A server that knows the changes of the feed `a` from now on: its reader has received one.
  private func followed(_ change: (inout HTTPOptions) -> Void = { _ in }) async throws -> ServedGround {
    let ground = try ServedGround(change)
    try ground.publish(try await source.flush(("a", ChangesetSource.item("x"))))
    let reader = try await ground.follow("a")
    _ = try await reader.nextChangeset()
    try ground.publish(try await source.flush(("a", ChangesetSource.item("y"))))
    _ = try await reader.nextChangeset()
    await reader.end()
    return ground
  }

  @Test func `the answers lead from the state to each change`() async throws {
    let ground = try await followed { $0.server.publicFeeds = NamePatterns(["a*"]) }
    let state = try await ground.ask("GET /v1/feeds/a/changes?after=", until: 200)
    #expect(state.text == (try ground.ask("GET /v1/feeds/a")).text)
    #expect(state["Content-Type"] == "application/x-ndjson" && state["Cache-Control"] == "public, max-age=1")
    #expect(state["Vary"] == "Accept-Encoding" && state["Feedstore-Writable"] == nil)
    let address = try next(state)
    #expect(address == "after=feeds.items%3A1795168800000%2F0%402")
    var lines: [String] = []
    for item in ["z", "w"] {
      let records = try await source.flush(("a", ChangesetSource.item(item)))
      lines += ServedGround.values(records)
      try ground.publish(records)
    }
    _ = try await ground.tag(of: "a", containing: "\"w\"")
    let both = try await until("both changes arrived") {
      let response = try ground.ask("GET /v1/feeds/a/changes?\(address)&wait=0")
      return response.text.contains("\"w\"") ? response : nil
    }
    #expect(both.text == lines.map { $0 + "\n" }.joined())
    #expect(both["Cache-Control"] == "public, max-age=10, stale-while-revalidate=10")
    let tag = try #require(both["ETag"])
    #expect(tag == "\"feeds.items:1795168800000/0@4\"")
    #expect(
      try ground.ask("GET /v1/feeds/a/changes?\(address)&wait=0", "If-None-Match: \(tag)").status == 304
    )
    let last = try next(both)
    let nothing = try ground.ask("GET /v1/feeds/a/changes?\(last)&wait=0")
    #expect(nothing.status == 200 && nothing.body.isEmpty)
    #expect(try next(nothing) == last)
    // A request that waits is answered by the next change.
    let waiting = try changes(ground, last)
    let records = try await source.flush(("a", ChangesetSource.item("v")))
    try ground.publish(records)
    #expect(try await response(ground, waiting).text == ServedGround.values(records)[0] + "\n")
    await ground.end()
  }

  @Test func `a version whose changes are not known must be refetched`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await source.flush(("a", ChangesetSource.item("x"))))
    _ = try await ground.ask("GET /v1/feeds/a", until: 200)
    let refused = try ground.ask("GET /v1/feeds/a/changes?after=another@1&first=3&cursor=5")
    #expect(refused.status == 409 && refused.text.contains("\"must-refetch\""))
    #expect(refused["Cache-Control"] == "no-store" && refused["Vary"] == "Accept-Encoding, Authorization")
    #expect(try next(refused) == "after=&first=3")
    #expect(try ground.ask("GET /v1/feeds/b/changes?after=").status == 404)
    for query in [
      "after=a", "after=a@-1", "after=&cursor=x", "after=&cursor=-1", "after=&wait=1",
      "after=&lastEventId=a@1", "cursor=1",
    ] {
      let response = try ground.ask("GET /v1/feeds/a/changes?\(query)")
      #expect(response.status == 400 && response.text.contains("invalid-parameter"), "\(query)")
    }
    #expect(try ground.ask("GET /v1/feeds/a/changes", "Accept: application/x-ndjson").status == 400)
    #expect(try ground.ask("HEAD /v1/feeds/a/changes?after=")["Content-Type"] == "application/x-ndjson")
    await ground.end()
  }

  @Test func `a deletion is a change, after which a request waits`() async throws {
    let ground = try await followed()
    let address = try next(try await ground.ask("GET /v1/feeds/a/changes?after=", until: 200))
    let deletion = try await source.flush(("a", "{\"op\":\"feed.delete\"}"))
    try ground.publish(deletion)
    let deleted = try await until("the deletion is known") {
      let response = try ground.ask("GET /v1/feeds/a/changes?\(address)&wait=0")
      return response.status == 200 && !response.body.isEmpty ? response : nil
    }
    #expect(deleted.text == ServedGround.values(deletion)[0] + "\n")
    let waiting = try changes(ground, try next(deleted))
    try ground.publish(try await source.flush(("a", ChangesetSource.item("y"))))
    #expect(try await response(ground, waiting).status == 409)
    await ground.end()
  }

  @Test func `a window is sent as a whole when its feed has changed`() async throws {
    let ground = try await followed()
    let address = try next(try ground.ask("GET /v1/feeds/a/changes?after=&first=1"))
    #expect(address == "after=feeds.items%3A1795168800000%2F0%402&first=1")
    #expect(try ground.ask("GET /v1/feeds/a/changes?\(address)&wait=0").body.isEmpty)
    let waiting = try changes(ground, address)
    try ground.publish(try await source.flush(("a", ChangesetSource.item("z"))))
    let changed = try await response(ground, waiting)
    #expect(changed.text.contains("\"mode\":\"reload\"") && changed.text.contains("\"of\":3"))
    #expect(changed.text == (try ground.ask("GET /v1/feeds/a?first=1")).text)
    #expect(try next(changed) == "after=feeds.items%3A1795168800000%2F0%403&first=1")
    await ground.end()
  }

  @Test func `the condition of one request does not decide on the response of others`() async throws {
    let ground = try await followed()
    let address = try next(try ground.ask("GET /v1/feeds/a/changes?after=&first=1"))
    let known = try await waiting(ground, address, "If-None-Match: *")
    let other = try changes(ground, address)
    try ground.publish(try await source.flush(("a", ChangesetSource.item("z"))))
    #expect(try await response(ground, other).text.contains("\"of\":3"))
    // It is 304, or the time was over.
    let unchanged = try await known.response()
    #expect(unchanged.body.isEmpty)
    await ground.end()
  }

  private func windowCount(_ ground: ServedGround) throws -> Int {
    let line = try ground.ask("GET /metrics").text.split(separator: "\n").first {
      $0.hasPrefix("feedstore_http_windows ")
    }
    return try #require(line.flatMap { Int($0.split(separator: " ")[1]) })
  }

  /// A request for a window that waits, and others if its time was over.
  private func waiting(
    _ ground: ServedGround,
    _ query: String,
    _ header: String = "X: y"
  ) async throws -> EventReader {
    try await until("a request waits") {
      let reader = try changes(ground, query, header)
      return try windowCount(ground) > 0 ? reader : nil
    }
  }

  @Test func `windows that are waited for count as open`() async throws {
    let ground = try await followed()
    let address = try next(try ground.ask("GET /v1/feeds/a/changes?after=&first=1"))
    let waiting = try await waiting(ground, address)
    try ground.publish(try await source.flush(("a", ChangesetSource.item("z"))))
    #expect(try await response(ground, waiting).text.contains("\"of\":3"))
    try await until("none waits") { try windowCount(ground) == 0 }
    await ground.end()
  }

  @Test func `too many windows cannot be waited for`() async throws {
    let ground = try await followed {
      $0.maxWindows = 0
      $0.server.publicFeeds = NamePatterns(["a"])
    }
    let address = try next(try ground.ask("GET /v1/feeds/a/changes?after=&first=1"))
    #expect(try ground.ask("GET /v1/feeds/a/changes?\(address)&wait=0").status == 200)
    let refused = try ground.ask("GET /v1/feeds/a/changes?\(address)")
    #expect(refused.status == 503 && refused.text.contains("\"too-many-windows\""))
    #expect(refused["Cache-Control"] == "public, max-age=1")
    await ground.end()
  }

  @Test func `a response has few changes at a time`() async throws {
    let ground = try await followed()
    var address = try next(try ground.ask("GET /v1/feeds/a/changes?after="))
    var lines: [String] = []
    for (item, size) in [("b", 100_000), ("c", 40_000), ("d", 20_000), ("e", 40_000)] {
      let text = String(repeating: item, count: size)
      let event = "{\"op\":\"item.upsert\",\"item\":\"\(item)\",\"section\":\"s\",\"data\":\"\(text)\"}"
      let records = try await source.flush(("a", event))
      lines += ServedGround.values(records).map { $0 + "\n" }
      try ground.publish(records)
    }
    _ = try await ground.tag(of: "a", containing: "\"e\"")
    try #require(lines.count == 4)
    for expected in [lines[0], lines[1] + lines[2], lines[3]] {
      let some = try await until("the changes arrived") {
        let response = try ground.ask("GET /v1/feeds/a/changes?\(address)&wait=0")
        return response.text == expected ? response : nil
      }
      address = try next(some)
    }
    await ground.end()
  }

  @Test func `of feeds with one id, the next address names one`() async throws {
    let ground = try ServedGround(partitions: 2)
    for partition in [0, 1] as [Int32] {
      try ground.publish(
        try await ChangesetSource().flush(("a", ChangesetSource.item("x"))),
        partition: partition
      )
    }
    let state = try await until("both feeds are known") {
      let response = try ground.ask("GET /v1/feeds/a/changes?after=")
      return response.status == 200 && response["Feedstore-Other-Partitions"] != nil ? response : nil
    }
    #expect(state["Feedstore-Partition"] == "0" && state["Feedstore-Other-Partitions"] == "1")
    #expect(try next(state) == "after=feeds.items%3A1795168800000%2F0%401&partition=0")
    #expect(try ground.ask("GET /v1/feeds/a/changes?\(next(state))&wait=0").status == 200)
    let refused = try ground.ask("GET /v1/feeds/a/changes?after=feeds.items%3A1795168800000%2F0%401")
    #expect(try refused.status == 409 && next(refused) == "after=&partition=0")
    await ground.end()
  }

  @Test func `everyone may read public feeds, and nothing else`() async throws {
    let secret = "a-token-of-the-tests"
    let ground = try ServedGround(token: try BearerToken(secret)) {
      $0.server.publicFeeds = NamePatterns(["news/*"])
    }
    try ground.publish(
      try await source.flush(("news/a", ChangesetSource.item("x")), ("b", ChangesetSource.item("x")))
    )
    let state = try await ground.ask("GET /v1/feeds/news%2Fa", until: 200)
    #expect(state["Cache-Control"] == "public, no-cache")
    #expect(state["Vary"] == "Accept, Accept-Encoding, Authorization")
    #expect(try ground.ask("GET /v1/feeds/news%2Fa/changes?after=").status == 200)
    #expect(try Page(ground.ask("GET /v1/feeds")).feeds.map(\.feed) == ["news/a"])
    let all = try Page(ground.ask("GET /v1/feeds", "Authorization: Bearer \(secret)"))
    #expect(all.feeds.map(\.feed) == ["b", "news/a"])
    for path in ["/v1/feeds/b", "/v1/feeds/b/changes?after=", "/v1/rejected", "/v1/status"] {
      let refused = try ground.ask("GET \(path)")
      #expect(refused.status == 401 && refused["WWW-Authenticate"] == "Bearer", "\(path)")
      #expect(refused["Cache-Control"] == "no-store")
      #expect(try ground.ask("GET \(path)", "Authorization: Bearer \(secret)").status == 200, "\(path)")
    }
    #expect(
      try ground.ask("GET /v1/feeds/news%2Fa", "Authorization: Bearer another-token-of-theirs").status == 401
    )
    let other = try ground.ask("GET /v1/feeds/b/changes?after=", "Authorization: Bearer \(secret)")
    #expect(other["Cache-Control"] == "no-store" && other["Vary"] == "Accept-Encoding, Authorization")
    #expect(try ground.ask("POST /v1/feeds/news%2Fa/events", "Content-Length: 0").status == 401)
    await ground.end()
  }
}

/// Requests that wait, without feeds.
struct ChangePollsTests {
  /// A server whose requests wait for a text.
  private final class Ground: Sendable {
    let polls = ChangePolls()
    let found = Mutex<String?>(nil)
    let attempts = Mutex(0)
    static let feed = ByteText("a")
    private let running = Mutex<HTTPServer?>(nil)
    private let (arrivals, continuation) = AsyncStream<Void>.makeStream()

    init() throws {
      var router = HTTPRouter()
      router.add("/wait") { [self] request in
        let end = request.queryValue("end").flatMap { Int64($0) } ?? .max
        let otherwise = Self.response("nothing")
        return .later { response in
          let group = ChangePolls.Group(attempt: { self.attempt() }, otherwise: otherwise, end: end)
          self.polls.add(response, to: group, of: Self.feed, at: request.query[0].value)
          self.continuation.yield()
        }
      }
      let server = try HTTPServer(HTTPServerConfiguration(), router: router)
      running.withLock { $0 = server }
    }

    private static func response(_ text: String) -> HTTPResponse {
      HTTPResponse(contentType: "text/plain", content: HTTPContent(text))
    }

    private func attempt() -> HTTPResponse? {
      attempts.withLock { $0 += 1 }
      return found.withLock { $0 }.map(Self.response)
    }

    /// Sends requests, and waits until they wait.
    func clients(_ queries: String...) async throws -> [HTTPTestClient] {
      let port = try #require(running.withLock { $0 }).port
      let clients = try queries.map { query in
        let client = try HTTPTestClient(port: port)
        try client.request("GET /wait?\(query)")
        return client
      }
      var left = queries.count
      for await _ in arrivals {
        left -= 1
        if left == 0 { break }
      }
      return clients
    }

    func end() {
      polls.stop()
      _ = running.withLock { $0.take() }?.stop(withinMilliseconds: 1_000)
    }
  }

  @Test func `requests for one address share an attempt`() async throws {
    let ground = try Ground()
    let clients = try await ground.clients("at=1", "at=1", "at=1", "at=2")
    ground.polls.wake(ByteText("b"))
    ground.attempts.withLock { $0 = 0 }
    ground.found.withLock { $0 = "found" }
    ground.polls.wake(Ground.feed)
    // A delivery waits for no attempt.
    #expect(ground.attempts.withLock { $0 } == 0)
    ground.polls.answer()
    #expect(ground.attempts.withLock { $0 } == 2)
    for client in clients { #expect(try client.response().text == "found") }
    #expect(ground.polls.isEmpty)
    // A change that came just before is not missed.
    #expect(try await ground.clients("at=1")[0].response().text == "found")
    #expect(ground.polls.isEmpty)
    ground.end()
  }

  @Test func `a response that comes at once is for its own request`() async throws {
    let ground = try Ground()
    let waiting = try await ground.clients("at=1")
    ground.found.withLock { $0 = "early" }
    #expect(try await ground.clients("at=1")[0].response().text == "early")
    #expect(!ground.polls.isEmpty)
    ground.found.withLock { $0 = "found" }
    ground.polls.wake(nil)
    ground.polls.answer()
    #expect(try waiting[0].response().text == "found")
    ground.end()
  }

  @Test func `a request ends in time, or with the server`() async throws {
    let ground = try Ground()
    let clients = try await ground.clients("at=1&end=1000", "at=2")
    ground.polls.expire(at: 999)
    ground.polls.expire(at: 1_000)
    #expect(try clients[0].response().text == "nothing")
    #expect(!ground.polls.isEmpty)
    ground.polls.stop()
    #expect(try clients[1].response().text.contains("\"stopping\""))
    #expect(try await ground.clients("at=3")[0].response().status == 503)
    ground.end()
  }
}
