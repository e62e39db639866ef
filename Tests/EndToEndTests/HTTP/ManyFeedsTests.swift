import ChangesetTestSupport
import FeedConfiguration
import HTTPTestSupport
import Testing

/// Streams of many feeds, and windows, over HTTP.
struct ManyFeedsTests {
  private let source = ChangesetSource()

  private func publish(_ feed: String, _ items: [String], on ground: ServedGround) async throws {
    let events = items.map { ChangesetSource.item($0) }.joined(separator: ",")
    try ground.publish(try await source.flush((feed, "[\(events)]")))
  }

  private func open(
    _ content: String,
    on ground: ServedGround
  ) async throws -> (reader: EventReader, id: String) {
    let client = try ground.connect()
    try client.request("POST /v1/streams", body: content)
    let reader = EventReader(client)
    try #require(try await reader.status() == 200)
    let first = try #require(try await reader.next())
    let id = try #require(first.data.firstMatch(of: /^\{"stream":"([0-9a-f]{32})"\}$/)).1
    #expect(first.name == "stream")
    return (reader, String(id))
  }

  @Test func `a stream has many feeds, comes back with what it missed, and is changed while it is open`()
    async throws
  {
    let ground = try ServedGround()
    for feed in ["a", "b", "c"] { try await publish(feed, ["x"], on: ground) }
    _ = try await ground.ask("GET /v1/feeds/c", until: 200)
    let (reader, id) = try await open(
      String(repeating: " ", count: 1_000_000) + #"{"feeds":[{"feed":"a"},{"feed":"none"},{"feed":"b"}]}"#,
      on: ground
    )
    #expect(try await reader.next(named: "absent")?.data == #"{"feed":"none","reason":"unknown-feed"}"#)
    var states: [String] = []
    for _ in 0..<2 { states.append(try #require(try await reader.nextChangeset())) }
    #expect(
      states.sorted() == [try ground.ask("GET /v1/feeds/a").text, try ground.ask("GET /v1/feeds/b").text]
    )

    let client = try ground.connect()
    let answer = try client.ask(
      "PATCH /v1/streams/\(id)",
      body: #"{"remove":["b"],"add":[{"feed":"c"},{"feed":"a","first":1}]}"#
    )
    #expect(answer.status == 200 && answer.text == #"{"added":["c"],"changed":["a"],"removed":["b"]}"#)
    #expect(try await reader.next(named: "must-refetch")?.data.contains("\"feed\":\"a\"") == true)
    var changed: [String] = []
    for _ in 0..<2 { changed.append(try #require(try await reader.nextChangeset())) }
    #expect(changed.contains { $0.contains(#""window":[{"section":"s","from":0,"shown":1,"of":1}]"#) })
    #expect(changed.contains(try ground.ask("GET /v1/feeds/c").text))

    // A feed that appears, and one that is no longer followed.
    try await publish("b", ["y"], on: ground)
    try await publish("none", ["x"], on: ground)
    #expect(try await reader.nextChangeset() == (try ground.ask("GET /v1/feeds/none").text))
    #expect(
      try client.ask("PATCH /v1/streams/\(id)", body: "{}").text == #"{"added":[],"changed":[],"removed":[]}"#
    )
    let far = #"{"add":[{"feed":"far","sections":["s"],"from":9223372036854775807,"count":1.0}]}"#
    #expect(try client.ask("PATCH /v1/streams/\(id)", body: far).status == 200)

    // It is created again.
    await reader.end()
    let single = try await ground.follow("c")
    _ = try await single.nextChangeset()
    try await publish("c", ["y"], on: ground)
    // Once it was sent to a client, it is in the history.
    _ = try await single.nextChangeset()
    let tag = try await ground.tag(of: "c", containing: "\"y\"")
    let version = try #require(FeedTag(tag))
    let (again, _) = try await open(
      #"{"feeds":[{"feed":"c","epoch":"\#(version.epoch)","revision":\#(version.revision - 1)}]}"#,
      on: ground
    )
    #expect(try await again.nextChangeset()?.contains("\"mode\":\"diff\"") == true)
    #expect(
      try await again.next(named: "up-to-date")?.data.contains("\"revision\":\(version.revision)}") == true
    )
    await ground.end()
  }

  @Test func `a stream has several views of one feed, and each message names its view`() async throws {
    let ground = try ServedGround()
    try await publish("a", ["x", "y"], on: ground)
    let whole = String(try await ground.ask("GET /v1/feeds/a", until: 200).text.dropFirst())
    let first = try ground.ask("GET /v1/feeds/a?first=1").text
    let name = #"é\""#
    let (reader, id) = try await open(
      #"{"feeds":[{"feed":"a","first":1,"view":"\#(name)"},{"feed":"a","view":"2"},{"feed":"a","first":1}]}"#,
      on: ground
    )
    var states: Set<String> = []
    for _ in 0..<3 { states.insert(try #require(try await reader.nextChangeset())) }
    #expect(states == [#"{"view":"2","# + whole, first, #"{"view":"\#(name)","# + first.dropFirst()])
    let added = #"[{"feed":"a","view":"2","first":1},{"feed":"b","view":"2"}]"#
    let answer = try ground.connect().ask(
      "PATCH /v1/streams/\(id)",
      body: #"{"remove":["a",{"feed":"a","view":"none"}],"add":\#(added)}"#
    )
    let expected = #"{"added":[{"feed":"b","view":"2"}],"changed":[{"feed":"a","view":"2"}],"removed":["a"]}"#
    #expect(answer.text == expected)
    #expect(try await reader.next(named: "must-refetch")?.data.hasPrefix(#"{"view":"2","feed":"a","#) == true)
    #expect(
      try await reader.next(named: "absent")?.data == #"{"view":"2","feed":"b","reason":"unknown-feed"}"#
    )
    #expect(try await reader.nextChangeset() == #"{"view":"2","# + first.dropFirst())
    try ground.publish(try await source.flush(("a", #"{"op":"item.delete","item":"x"}"#)))
    var names: Set<Substring> = []
    for _ in 0..<2 { names.insert(try #require(try await reader.nextChangeset()).prefix { $0 != "," }) }
    #expect(names == [#"{"view":"2""#, #"{"view":"\#(name)""#])
    let counts = try ground.ask("GET /metrics").text
    #expect(
      counts.contains("feedstore_http_windows 1\n") && counts.contains("feedstore_http_stream_feeds 3\n")
    )
    await ground.end()
  }

  @Test func `a window is followed, and its totals are told`() async throws {
    let ground = try ServedGround()
    try await publish("a", ["x", "y"], on: ground)
    let reader = try await ground.follow("a", "", after: nil)
    _ = try await reader.nextChangeset()
    let shown = try #require(try await ground.open("a", "?first=2"))
    #expect(
      try await shown.nextChangeset()?.contains(#"[{"section":"s","from":0,"shown":2,"of":2}]"#) == true
    )
    #expect(try await shown.next()?.name == "up-to-date")
    // Beyond the window, at its end.
    try await publish("a", ["z"], on: ground)
    let totals = try #require(try await shown.next())
    #expect(totals.name == "window")
    #expect(totals.data.hasSuffix(#","revision":2,"window":[{"section":"s","from":0,"shown":2,"of":3}]}"#))
    try ground.publish(try await source.flush(("a", #"{"op":"item.delete","item":"x"}"#)))
    let change = try #require(try await shown.next())
    #expect(change.id?.hasSuffix("@3") == true)
    #expect(change.data.contains(#""revision":3,"base":1,"#))
    #expect(change.data.contains(#""insert":[{"id":"z","#))
    let other = try #require(try await ground.open("a", "?first=2&lastEventId=\(change.id ?? "")"))
    // It may have other totals.
    let known = try #require(try await other.next())
    #expect(known.name == "window")
    #expect(known.data.hasSuffix(#","revision":3,"window":[{"section":"s","from":0,"shown":2,"of":2}]}"#))
    #expect(try await other.next()?.name == "up-to-date")
    let counts = try ground.ask("GET /metrics").text
    #expect(
      counts.contains("feedstore_http_windows 1\n") && counts.contains("feedstore_http_stream_feeds 3\n")
    )
    await ground.end()
  }

  @Test func `of members with the same name the last one counts`() async throws {
    let ground = try ServedGround()
    for feed in ["a", "b"] { try await publish(feed, ["x"], on: ground) }
    _ = try await ground.ask("GET /v1/feeds/b", until: 200)
    let (reader, id) = try await open(
      #"{"feeds":[{"feed":"none"}],"feeds":[{"feed":"none","first":true,"fe\u0065d":"a","first":1}]}"#,
      on: ground
    )
    #expect(try await reader.nextChangeset() == (try ground.ask("GET /v1/feeds/a?first=1").text))
    let answer = try ground.connect().ask(
      "PATCH /v1/streams/\(id)",
      body: #"{"add":[{"feed":"none"}],"remove":["none"],"add":[{"feed":"none","feed":"b"}],"remove":["a"]}"#
    )
    #expect(answer.text == #"{"added":["b"],"changed":[],"removed":["a"]}"#)
    #expect(try await reader.nextChangeset() == (try ground.ask("GET /v1/feeds/b").text))
    await ground.end()
  }

  /// Content, the wrong member, and a part of the answer.
  private static let invalid: [(content: String, member: String, text: String)] = [
    (#"{"feeds":[{"feed":"a","first":1,"from":0,"count":1,"sections":["s"]}]}"#, "feeds[0].from", "first"),
    (#"{"feeds":[{"feed":"a","from":0,"count":1}]}"#, "feeds[0].from", "exactly one section"),
    (
      #"{"feeds":[{"feed":"a","from":0,"count":1,"sections":["s","t"]}]}"#, "feeds[0].from",
      "exactly one section"
    ),
    (#"{"feeds":[{"feed":"a","from":0,"sections":["s"]}]}"#, "feeds[0].from", "count"),
    (#"{"feeds":[{"feed":"a","count":1}]}"#, "feeds[0].count", "from"),
    (#"{"feeds":[{"feed":"a"},{"feed":"b","first":-1}]}"#, "feeds[1].first", "is -1"),
    (#"{"feeds":[{"feed":"a","view":""}]}"#, "feeds[0].view", "has 0 bytes; expected 1 to 64"),
    (#"{"feeds":[{"feed":"a","view":1}]}"#, "feeds[0].view", "not valid"),
    (
      #"{"feeds":[{"feed":"a"},{"feed":"a","view":"1"},{"feed":"a","view":"1","first":1}]}"#, "feeds[2].feed",
      "with this view"
    ),
    (#"{"feeds":[{"feed":"a","first":10001}]}"#, "feeds[0].first", "10000"),
    (#"{"feeds":[{"feed":"a","first":1.5}]}"#, "feeds[0].first", "1.5"),
    (#"{"feeds":[{"feed":"a","first":null}]}"#, "feeds[0].first", "null"),
    (#"{"feeds":[{"feed":"a","sections":[]}]}"#, "feeds[0].sections", "empty"),
    (#"{"feeds":[{"feed":"a","sections":["s",7]}]}"#, "feeds[0].sections[1]", "String"),
    (#"{"feeds":[{"feed":"a","partition":2147483648}]}"#, "feeds[0].partition", "2147483647"),
    (#"{"feeds":[{"feed":"a","epoch":"e"}]}"#, "feeds[0].epoch", "revision"),
    (#"{"feeds":[{"feed":"a","frist":1}]}"#, "feeds[0].frist", "did you mean first?"),
    (#"{"feeds":[{"first":1}]}"#, "feeds[0].feed", "missing"),
    (#"{"feeds":[{"feed":""}]}"#, "feeds[0].feed", "0 bytes"),
    (#"{"feeds":[{"feed":"\#(String(repeating: "é", count: 128))"}]}"#, "feeds[0].feed", "256 bytes"),
    (#"{"feeds":[{"feed":"a","sections":["s",""]}]}"#, "feeds[0].sections", "0 bytes"),
    (#"{"feeds":[{"feed":"a"},{"feed":"a"}]}"#, "feeds[1].feed", "before"),
    (#"{"feed":[]}"#, "feed", "did you mean feeds?"),
    ("{}", "feeds", "missing"),
    ("[]", "", "Dictionary"),
    (#"{"feeds":"#, "", "is not JSON"),
    ("\u{feff}nonsense", "", "is not JSON"), ("\u{feff}{\"feeds\":[]}", "", "byte order mark"),
    ("{\0\"\0f\0", "", "is not JSON"), (#"{}"feeds""#, "", "is not JSON"),
    (#"{"feeds":[],"frist":1,"frist":2}"#, "frist", "not known"),
  ]

  @Test func `content that is not valid is refused, and the answer names the member`() async throws {
    let ground = try ServedGround()
    for (content, member, text) in Self.invalid {
      let response = try ground.connect().ask("POST /v1/streams", body: content)
      #expect(response.status == 400)
      #expect(response["Content-Type"] == "application/problem+json")
      for part in ["\"code\":\"invalid-content\"", "\"member\":\"\(member)\"", text] {
        #expect(response.text.contains(part), "\(response.text)")
      }
    }
    for (query, text) in [("sections=", "0 bytes"), ("count=1", "from"), ("first=1.0", "1.0")] {
      let response = try ground.connect().ask("GET /v1/feeds/a/changes?\(query)")
      #expect(response.status == 400 && response.text.contains(text), "\(response.text)")
    }
    await ground.end()
  }

  @Test func `streams, windows and content have bounds`() async throws {
    let ground = try ServedGround {
      $0.maxFeedsPerStream = 2
      $0.maxWindows = 1
      $0.maxRequestBytes = 1_024
    }
    try await publish("a", ["x"], on: ground)
    _ = try await ground.ask("GET /v1/feeds/a", until: 200)
    let many = #"{"feeds":[{"feed":"a"},{"feed":"b"},{"feed":"c"}]}"#
    #expect(
      try ground.connect().ask("POST /v1/streams", body: many).text.contains("feeds has 3 feeds; allowed: 2")
    )
    let (reader, id) = try await open(#"{"feeds":[{"feed":"a","first":1},{"feed":"b"}]}"#, on: ground)
    let path = "PATCH /v1/streams/\(id)"
    // Only now: a connection has ten seconds for its first request.
    let client = try ground.connect()
    #expect(try client.ask(path, body: #"{"add":[{"feed":"c"}]}"#).text.contains("would make it 3 feeds"))
    let window = try client.ask(path, body: #"{"add":[{"feed":"b","first":2}]}"#)
    #expect(window.status == 503 && window.text.contains("too-many-windows") && window["Retry-After"] == "1")
    #expect(try ground.ask("GET /v1/feeds/a/changes?first=2").status == 503)
    #expect(try client.ask("GET /v1/feeds/a/changes?first=x").text.contains("first is \\\"x\\\""))
    #expect(
      try client.ask(path, body: #"{"add":[{"feed":"a","first":1}],"remove":[{"feed":"b"},"c"]}"#).status
        == 200
    )
    #expect(
      // The head alone: unread content may cost the client the answer.
      try ground.connect().ask("POST /v1/streams", "Content-Length: 1025").status == 413
    )
    #expect(
      try client.ask("PATCH /v1/streams/\(String(repeating: "0", count: 32))", body: "{}").status == 404
    )
    await reader.end()
    try await until("the stream ends") { try client.ask(path, body: "{}").status == 404 }
    await ground.end()
  }
}

/// The parts of a feed's entity tag.
private struct FeedTag {
  let epoch: Substring
  let revision: UInt64

  init?(_ text: String) {
    guard let at = text.lastIndex(of: "@"), let revision = UInt64(text[text.index(after: at)...]) else {
      return nil
    }
    epoch = text[..<at]
    self.revision = revision
  }
}
