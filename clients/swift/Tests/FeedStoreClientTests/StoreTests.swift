import Foundation
import Testing

@testable import FeedStoreClient

/// Reads updates until one fits.
func firstUpdate(
  _ updates: FeedUpdates.Iterator,
  _ what: Comment = "",
  where fits: (FeedUpdate) throws -> Bool
) async throws -> FeedUpdate {
  while let update = await updates.next() { if try fits(update) { return update } }
  throw TestEnded(what: "\(what)")
}

struct TestEnded: Error { let what: String }

func nextRequest(
  _ requests: inout AsyncStream<FakeServer.Request>.Iterator,
  where fits: (FakeServer.Request) -> Bool = { _ in true }
) async throws -> FakeServer.Request {
  while let request = await requests.next() { if fits(request) { return request } }
  throw TestEnded(what: "a request")
}

extension FeedView {
  /// The items by the ids of their sections.
  var outline: [String] { sections.map { "\($0.id): \($0.items.map(\.id.rawValue).joined(separator: " "))" } }
}

/// Histories of one feed, written by hand.
enum Sample {
  static func record(_ offset: Int, _ feed: String, _ value: String) -> String {
    "{\"topic\":\"feeds.items\",\"partition\":0,\"offset\":\(offset),\"ts\":\(offset * 1000),\"key\":\"\(feed)\",\"value\":\(value)}"
  }

  static let list =
    "{\"op\":\"feed.replace\",\"sections\":[{\"id\":\"top\",\"items\":["
    + "\(["a", "b", "c", "d", "e", "f", "g"].map { "{\"id\":\"\($0)\",\"kind\":\"story\",\"data\":{\"title\":\"\($0)\"}}" }.joined(separator: ","))]},{\"id\":\"more\"}]}"

  static func history(_ feed: String, _ values: [String]) throws -> [PublishedChangeset] {
    try Replay.changesets(
      ([list] + values).enumerated().map { record($0, feed, $1) },
      settings: onlyDifferences
    )
  }

  static let star = "{\"op\":\"item.patch\",\"item\":\"b\",\"data\":{\"starred\":true}}"
  static let move = "{\"op\":\"item.move\",\"item\":\"c\",\"at\":\"first\"}"
  static let remove = "{\"op\":\"feed.delete\"}"
}

@Suite(.enabled(if: Checkout.hasCommand), .timeLimit(.minutes(2))) struct StoreTests {
  let server = FakeServer()

  @Test func `a feed is shown, and an update changes exactly the objects that changed`() async throws {
    server.add(try Sample.history("news", [Sample.star, Sample.move]))
    server.publish("news")
    let feed = FeedStore(server.url).feed("news")
    let updates = feed.updates.makeAsyncIterator()
    let first = try await firstUpdate(updates) { $0.view.standing == .live }
    #expect(first.view.outline == ["top: a b c d e f g", "more: "])
    #expect(first.view.item("b")?.data["title"]?.string == "b")
    server.publish("news")
    let second = try await firstUpdate(updates) { if case .changed = $0.kind { true } else { false } }
    guard case .changed(let change) = second.kind else { return }
    #expect(change.mode == .reconfigure)
    #expect(change.items.reconfigures.map(\.id) == ["b"])
    let rendered = second.view.sections.flatMap(\.items).filter { first.view.item($0.id) !== $0 }
    #expect(rendered.map(\.id) == ["b"])
    #expect(second.view.item("b")?.dataText == "{\"title\":\"b\",\"starred\":true}")
    #expect(second.view.section("more") === first.view.section("more"))
    #expect(second.view.section("top") !== first.view.section("top"))
    server.publish("news")
    let third = try await firstUpdate(updates) { if case .changed = $0.kind { true } else { false } }
    #expect(third.view.outline[0] == "top: c a b d e f g")
    #expect(third.view.sections.flatMap(\.items).allSatisfy { second.view.item($0.id) === $0 })
    #expect(feed.view.revision == 3)
    // A value that is kept stays as it is.
    #expect(first.view.outline[0] == "top: a b c d e f g")
    server.close()
  }

  @Test func `all feeds share one stream, and what is asked at the same time is one request`() async throws {
    for name in ["f", "g", "h"] {
      server.add(try Sample.history(name, []))
      server.publish(name)
    }
    var requests = server.requests.makeAsyncIterator()
    let store = FeedStore(server.url)
    let feeds = ["f", "g"].map { store.feed(FeedID($0)) }
    let all = feeds.map { $0.updates.makeAsyncIterator() }
    for updates in all { _ = try await firstUpdate(updates) { $0.view.standing == .live } }
    let opening = try await nextRequest(&requests)
    #expect(opening.method == "POST")
    #expect(opening.body == "{\"feeds\":[{\"feed\":\"f\"},{\"feed\":\"g\"}]}")
    let third = store.feed("h", .first(2))
    let again = store.feed("f")
    let updates = third.updates.makeAsyncIterator()
    let secondReader = again.updates.makeAsyncIterator()
    // The same feed with the same window is followed once.
    #expect(await secondReader.next()?.view.outline[0] == "top: a b c d e f g")
    let view = try await firstUpdate(updates) { $0.view.standing == .live }.view
    #expect(view.outline == ["top: a b", "more: "])
    #expect(view.section("top")?.of == 7)
    let change = try await nextRequest(&requests)
    #expect(change.method == "PATCH")
    #expect(change.body == "{\"add\":[{\"feed\":\"h\",\"first\":2}]}")
    // The same feed with another window needs another stream.
    let other = store.feed("f", .first(1))
    let windowed = try await firstUpdate(other.updates.makeAsyncIterator()) { $0.view.standing == .live }.view
    #expect(windowed.outline == ["top: a", "more: "])
    #expect(try await nextRequest(&requests).body == "{\"feeds\":[{\"feed\":\"f\",\"first\":1}]}")
    server.close()
    withExtendedLifetime((all, updates, secondReader)) {}
  }

  @Test func `a connection exists while there is a listener`() async throws {
    server.add(try Sample.history("f", [Sample.star]))
    server.publish("f")
    var requests = server.requests.makeAsyncIterator()
    let feed = FeedStore(server.url).feed("f")
    do {
      let updates = feed.updates.makeAsyncIterator()
      _ = try await firstUpdate(updates) { $0.view.standing == .live }
    }
    #expect(try await nextRequest(&requests) { $0.method == "CLOSED" }.path == "stream1")
    server.publish("f")
    #expect(feed.view.standing == .connecting)
    let updates = feed.updates.makeAsyncIterator()
    #expect(await updates.next()?.view.item("b") != nil)
    _ = try await firstUpdate(updates) { $0.view.revision == 2 }
    // It goes on where it was.
    #expect(try await nextRequest(&requests).body.contains("\"revision\":1}"))
    server.close()
  }

  @Test func `random histories arrive in spite of lost connections, lost changesets and restarts`()
    async throws
  {
    var random = SeededRandom("connections")
    var records = RandomRecords(random: random, feeds: ["f", "a/b"])
    let history = try Replay.changesets(records.lines(400), settings: onlyDifferences)
    server.add(history)
    let store = FeedStore(server.url)
    let feeds = [store.feed("f"), store.feed("a/b")]
    let iterators = feeds.map { $0.updates.makeAsyncIterator() }
    for changeset in history {
      if random.chance(5) { server.cut() }
      server.publish(changeset.feed, sends: !random.chance(3))
    }
    server.cut()
    for (feed, updates) in zip(feeds, iterators) {
      let last = try #require(history.last { $0.feed == feed.id.rawValue })
      if let state = last.state {
        var truth = Replica(feed.id)
        for text in state { _ = try truth.apply(text) }
        let update = try await firstUpdate(updates) {
          $0.view.revision == last.revision && $0.view.epoch == truth.view.epoch && $0.view.standing == .live
        }
        #expect(update.view.state.document == truth.view.state.document)
      } else {
        _ = try await firstUpdate(updates) { if case .absent = $0.kind { true } else { false } }
      }
    }
    server.close()
  }

  @Test func `a changeset that does not fit has the feed asked for again`() async throws {
    server.add(try Sample.history("f", [Sample.star, Sample.move]))
    server.publish("f")
    var requests = server.requests.makeAsyncIterator()
    let feed = FeedStore(server.url).feed("f")
    let updates = feed.updates.makeAsyncIterator()
    let first = try await firstUpdate(updates) { $0.view.standing == .live }
    server.publish("f", sends: false)
    server.publish("f")
    let stale = try await firstUpdate(updates) { $0.view.standing == .stale(.mustRefetch) }
    #expect(stale.view.outline[0] == "top: a b c d e f g")
    let state = try await firstUpdate(updates) { $0.view.standing == .live }
    #expect(state.view.outline[0] == "top: c a b d e f g")
    // Elements that the reload has again are the same objects.
    #expect(state.view.item("a") === first.view.item("a"))
    #expect(state.view.item("b") !== first.view.item("b"))
    _ = try await nextRequest(&requests)
    #expect(try await nextRequest(&requests).body == "{\"add\":[{\"feed\":\"f\"}],\"remove\":[\"f\"]}")
    server.close()
  }

  @Test func `another window is shown when its state arrives`() async throws {
    server.add(try Sample.history("f", []))
    server.publish("f")
    let feed = FeedStore(server.url).feed("f", .first(2))
    let updates = feed.updates.makeAsyncIterator()
    let first = try await firstUpdate(updates) { $0.view.standing == .live }
    feed.show(.all)
    #expect(feed.view.outline == first.view.outline)
    let all = try await firstUpdate(updates) {
      if case .stale = $0.view.standing { Issue.record("it was asked for, and not missed") }
      return $0.view.itemCount == 7
    }
    #expect(all.view.item("a") === first.view.item("a"))
    feed.show(.items(of: "top", from: 2, count: 3))
    let part = try await firstUpdate(updates) { $0.view.itemCount == 3 && $0.view.standing == .live }
    #expect(part.view.outline == ["top: c d e"])
    #expect(part.view.section("top")?.from == 2)
    #expect(part.view.section("top")?.of == 7)
    server.say(
      "window",
      "{\"feed\":\"f\",\"epoch\":\"x\",\"revision\":9,\"window\":[{\"section\":\"top\",\"from\":2,\"shown\":3,\"of\":9}]}"
    )
    let totals = try await firstUpdate(updates) { $0.view.section("top")?.of == 9 }
    #expect(totals.view.item("c") === part.view.item("c"))
    server.close()
  }

  @Test func `a feed that does not exist is absent until it is created, and after it is deleted`()
    async throws
  {
    server.add(try Sample.history("f", [Sample.remove]))
    let feed = FeedStore(server.url).feed("f")
    let updates = feed.updates.makeAsyncIterator()
    let absent = try await firstUpdate(updates) { if case .absent = $0.kind { true } else { false } }
    #expect(!absent.view.exists)
    #expect(absent.view.standing == .live)
    server.publish("f")
    _ = try await firstUpdate(updates) { $0.view.exists && $0.view.standing == .live }
    server.publish("f")
    let deleted = try await firstUpdate(updates) { if case .absent = $0.kind { true } else { false } }
    #expect(!deleted.view.exists)
    #expect(deleted.view.sections.isEmpty)
    server.close()
  }

  @Test func `a slow reader of a feed that is not known is not told that it is absent`() async {
    func view(_ seconds: Double) -> FeedView {
      FeedView(feed: "f", standing: .stale(.disconnected(until: Date(timeIntervalSince1970: seconds))))
    }
    for isAbsent in [false, true] {
      let mailbox = Mailbox()
      if isAbsent { mailbox.deliver(FeedUpdate(kind: .absent, view: view(0))) }
      for number in 0..<33 { mailbox.deliver(FeedUpdate(kind: .standing, view: view(Double(number)))) }
      var told = false
      for _ in 0..<(isAbsent ? 2 : 1) {
        if case .absent = await mailbox.next()?.kind { told = true }
      }
      #expect(told == isAbsent)
    }
  }

  @Test func `a slow reader gets the newest state instead of all between`() async throws {
    let stars = (0..<100).map { "{\"op\":\"item.patch\",\"item\":\"b\",\"data\":{\"n\":\($0)}}" }
    server.add(try Sample.history("f", stars))
    server.publish("f")
    let feed = FeedStore(server.url).feed("f")
    let (slow, fast) = (feed.updates.makeAsyncIterator(), feed.updates.makeAsyncIterator())
    _ = try await firstUpdate(slow) { $0.view.standing == .live }
    for _ in stars { server.publish("f") }
    _ = try await firstUpdate(fast) { $0.view.revision == 101 }
    var read = 0
    var hasState = false
    _ = try await firstUpdate(slow) {
      read += 1
      if case .state = $0.kind { hasState = true }
      return $0.view.revision == 101
    }
    #expect(read < 100)
    #expect(hasState)
    server.close()
  }

  @Test func `a feed that moves is followed, to the place that is given or to all`() async throws {
    let other = FakeServer()
    server.add(try Sample.history("f", [Sample.star, Sample.move]))
    server.publish("f")
    let store = FeedStore([server.url, other.url])
    let updates = store.feed("f").updates.makeAsyncIterator()
    let first = try await firstUpdate(updates) { $0.view.standing == .live }
    other.take("f", from: server)
    server.lose("f", to: other.url)
    _ = try await firstUpdate(updates) { $0.view.standing == .stale(.moved) }
    _ = try await firstUpdate(updates) { $0.view.standing == .live }
    other.publish("f")
    let second = try await firstUpdate(updates) { $0.view.revision == 2 }
    #expect(second.view.item("a") === first.view.item("a"))
    // Back, without being told where.
    server.take("f", from: other)
    other.lose("f", to: nil)
    _ = try await firstUpdate(updates) { $0.view.standing == .live }
    server.publish("f")
    #expect(try await firstUpdate(updates) { $0.view.revision == 3 }.view.outline[0] == "top: c a b d e f g")
    // An instance that dies.
    other.take("f", from: server)
    server.close()
    #expect(try await firstUpdate(updates) { $0.view.standing == .live }.view.revision == 3)
    other.close()
  }

  @Test func `a feed is absent when all instances say so`() async throws {
    let other = FakeServer()
    let updates = FeedStore([server.url, other.url]).feed("f").updates.makeAsyncIterator()
    _ = try await firstUpdate(updates) { if case .absent = $0.kind { true } else { false } }
    other.add(try Sample.history("f", []))
    other.publish("f")
    _ = try await firstUpdate(updates) { $0.view.exists }
    server.close()
    other.close()
  }

  @Test func `a refused token is asked for again`() async throws {
    server.add(try Sample.history("f", []))
    server.publish("f")
    server.intercept { request in
      request.headers["authorization"] == "Bearer new"
        ? nil : (401, "{\"status\":401,\"code\":\"invalid-token\",\"detail\":\"it has ended\"}", [])
    }
    let tokens = Counter()
    let store = FeedStore(server.url) { await tokens.next() == 1 ? "old" : "new" }
    let updates = store.feed("f").updates.makeAsyncIterator()
    _ = try await firstUpdate(updates) { $0.view.standing == .stale(.tokenNeeded("it has ended")) }
    _ = try await firstUpdate(updates) { $0.view.standing == .live }
    #expect(await tokens.count == 2)
    server.close()
  }

  @Test func `a token that is about to end is renewed in the open stream`() async throws {
    server.add(try Sample.history("f", []))
    server.publish("f")
    func token(_ seconds: Double) -> String {
      let claims = "{\"sub\":\"ada\",\"exp\":\(Int(Date().timeIntervalSince1970 + seconds))}"
      return "e30.\(Data(claims.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")).x"
    }
    let (old, new) = (token(2), token(3600))
    let tokens = Counter()
    let store = FeedStore(server.url) { await tokens.next() == 1 ? old : new }
    var requests = server.requests.makeAsyncIterator()
    let updates = store.feed("f").updates.makeAsyncIterator()
    _ = try await firstUpdate(updates) { $0.view.standing == .live }
    let patch = try await nextRequest(&requests) { $0.method == "PATCH" }
    #expect(patch.body == "{}")
    #expect(patch.headers["authorization"] == "Bearer \(new)")
    server.close()
    withExtendedLifetime(updates) {}
  }

  @Test func `refusals say why, and the feed is shown when they end`() async throws {
    server.add(try Sample.history("f", []))
    server.publish("f")
    for (status, code, standing) in [
      (403, "forbidden", Standing.stale(.forbidden("why"))), (404, "not-found", .stale(.badRequest("why"))),
      (503, "restoring", .stale(.unavailable("why"))),
    ] {
      server.intercept { _ in (status, "{\"status\":\(status),\"code\":\"\(code)\",\"detail\":\"why\"}", []) }
      let updates = FeedStore(server.url).feed("f").updates.makeAsyncIterator()
      _ = try await firstUpdate(updates) { $0.view.standing == standing }
    }
    // A window that is not valid does not stop the other feeds.
    server.intercept { request in
      let body =
        "{\"status\":400,\"code\":\"invalid-content\",\"detail\":\"first is too large\",\"member\":\"feeds[0].first\"}"
      return request.body.contains("99999") ? (400, body, []) : nil
    }
    let store = FeedStore(server.url)
    let (bad, good) = (store.feed("g", .first(99999)), store.feed("f"))
    let (badUpdates, goodUpdates) = (bad.updates.makeAsyncIterator(), good.updates.makeAsyncIterator())
    _ = try await firstUpdate(badUpdates) { $0.view.standing == .stale(.badRequest("first is too large")) }
    _ = try await firstUpdate(goodUpdates) { $0.view.standing == .live }
    // The stream's own events.
    server.say("forbidden", "{\"feed\":\"f\",\"reason\":\"not-allowed\"}")
    _ = try await firstUpdate(goodUpdates) { $0.view.standing == .stale(.forbidden("not-allowed")) }
    server.close()
    let lost = try await firstUpdate(goodUpdates) {
      if case .stale(.disconnected) = $0.view.standing { true } else { false }
    }
    #expect(lost.view.itemCount == 7)
  }

  @Test func `a subscription ends when it is released`() async throws {
    server.add(try Sample.history("f", []))
    server.publish("f")
    var requests = server.requests.makeAsyncIterator()
    let feed = FeedStore(server.url).feed("f")
    let (updates, continuation) = AsyncStream.makeStream(of: FeedUpdate.self)
    var subscription: FeedSubscription? = feed.subscribe { continuation.yield($0) }
    #expect(await updates.first { $0.view.standing == .live } != nil)
    withExtendedLifetime(subscription) {}
    subscription = nil
    #expect(try await nextRequest(&requests) { $0.method == "CLOSED" }.path == "stream1")
    server.close()
  }

  @Test func `a loop ends with its task`() async throws {
    let feed = FeedStore(server.url).feed("f")
    let loop = Task { for await _ in feed.updates {} }
    loop.cancel()
    await loop.value
    server.close()
  }
}

actor Counter {
  private(set) var count = 0

  func next() -> Int {
    count += 1
    return count
  }
}
