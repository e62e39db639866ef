import ChangesetTestSupport
import FeedHTTP
import FeedStatus
import HTTP
import HTTPTestSupport
import Kafka
import Testing

@testable import FeedWorker

/// Immediate responses: lists, states and errors.
struct FeedStateTests {
  private let source = ChangesetSource()
  private static let item = ChangesetSource.item("x", 1)

  @Test func `a feed is served as a reload, with a tag that avoids sending it again`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await source.flush(("hn/é", Self.item)))
    let path = "/v1/feeds/hn%2F%C3%A9"
    let first = try await ground.ask("GET \(path)", until: 200)
    #expect(first["Content-Type"] == "application/json")
    #expect(first["Cache-Control"] == "no-cache")
    let tag = try #require(first["ETag"])
    #expect(tag == "\"feeds.items:1795168800000/0@1\"")
    #expect(
      first.text == """
        {"feed":"hn/é","epoch":"feeds.items:1795168800000/0","revision":1,"base":1,"mode":"reload","reason":"keyframe",\
        "time":"2026-11-20T10:00:00.000Z","through":{"feeds.items":0},"checksum":"8085a815",\
        "sections":[{"id":"s","data":null,"items":[{"id":"x","kind":"k","data":{"n":1,"p":""}}]}]}
        """
    )
    let again = try ground.ask("GET \(path)", "If-None-Match: \(tag)")
    #expect(again.status == 304)
    #expect(again.body.isEmpty)
    #expect(again["ETag"] == tag)
    try ground.publish(try await source.flush(("hn/é", ChangesetSource.item("y"))))
    let changed = try await until("the feed changes") {
      let response = try ground.ask("GET \(path)", "If-None-Match: \(tag)")
      return response.status == 304 ? nil : response
    }
    #expect(changed.status == 200)
    #expect(changed["ETag"] == "\"feeds.items:1795168800000/0@2\"")
    await ground.end()
  }

  @Test func `a window of a feed is served as a stream would begin with it`() async throws {
    let ground = try ServedGround()
    let items = ["x", "y", "z"].map { ChangesetSource.item($0, 1) }
    for item in items { try ground.publish(try await source.flush(("a", item))) }
    _ = try await ground.tag(of: "a", containing: "\"z\"")
    for query in [
      "?first=2", "?sections=s&from=1&count=2", "?sections=none", "?sections=s&sections=t&first=0",
    ] {
      let state = try ground.ask("GET /v1/feeds/a\(query)")
      #expect(state.status == 200 && state.text.contains("\"window\":["), "\(query)")
      let reader = try await ground.follow("a", query)
      #expect(try await reader.nextChangeset() == state.text)
      let tag = try #require(state["ETag"])
      #expect(try ground.ask("GET /v1/feeds/a\(query)", "If-None-Match: \(tag)").status == 304)
      await reader.end()
    }
    let two = try ground.ask("GET /v1/feeds/a?first=2").text
    #expect(two.contains("\"x\"") && two.contains("\"y\"") && !two.contains("\"z\""))
    for query in [
      "first=x", "first=-1", "from=1", "from=1&count=2", "count=1", "first=10001", "first=1&from=1&count=1",
    ] {
      let refused = try ground.ask("GET /v1/feeds/a?\(query)")
      #expect(refused.status == 400 && refused.text.contains("invalid-parameter"), "\(query)")
    }
    await ground.end()
  }

  @Test(arguments: [
    "/v1/feeds?first=5", "/v1/feeds/a?frist=5", "/v1/feeds/a?limit=1", "/v1/feeds/a?lastEventId=a@1",
    "/v1/feeds/a/changes?after=a@1&frist=5", "/v1/rejected?first=1", "/v1/status?partition=0",
  ])
  func `a parameter without effect is refused`(path: String) async throws {
    let ground = try ServedGround()
    let response = try ground.ask("GET \(path)")
    #expect(response.status == 400 && response.text.contains("is not known here; known: "))
    await ground.end()
  }

  @Test func `a long feed is compressed for clients that accept it`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await source.flush(("a", ChangesetSource.item("x", size: 5000))))
    _ = try await ground.ask("GET /v1/feeds/a", until: 200)
    let compressed = try ground.ask("GET /v1/feeds/a", "Accept-Encoding: gzip")
    #expect(compressed["Content-Encoding"] == "gzip")
    #expect(compressed["ETag"] == "\"feeds.items:1795168800000/0@1-gzip\"")
    #expect(compressed.body.count < 1000)
    await ground.end()
  }

  @Test func `feeds are listed page by page, ordered by the bytes of their ids`() async throws {
    let ground = try ServedGround(partitions: 2)
    // Two are canonically equivalent, and equal as strings.
    var names = ["B", "a/b", "a b", "c&d=e", "e\u{301}", "\u{e9}", "z"]
    for (index, name) in names.enumerated() {
      let partition = Int32(index % 2)
      try ground.publish(try await source.flush((name, Self.item)), partition: partition)
    }
    // The same id in another partition is another feed.
    try ground.publish(try await ChangesetSource().flush(("c&d=e", Self.item)), partition: 0)
    names.append("c&d=e")
    try await until("all feeds are listed") { try ground.ask("GET /v1/feeds").text.hasPrefix("{\"count\":8") }
    let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    var path: String? = "/v1/feeds?limit=3"
    var found: [String] = []
    var pages = 0
    while let next = path {
      let page = try Page(ground.ask("GET \(next)"))
      found += page.feeds.map(\.feed)
      path = page.next
      pages += 1
      #expect(page.count == names.count)
    }
    #expect(pages == 3)
    let one = try Page(ground.ask("GET /v1/feeds?after=c%26d%3De&limit=1&partition=0")).feeds.first
    #expect(one?.feed == "c&d=e" && one?.partition == 1 && one?.otherPartitions == [0])
    #expect(try Page(ground.ask("GET /v1/feeds?after=c%26d%3De&limit=1")).feeds.first?.feed == "e\u{301}")
    #expect(found.map { Array($0.utf8) } == sorted.map { Array($0.utf8) })
    let searched = try Page(ground.ask("GET /v1/feeds?search=%2FB&limit=1"))
    #expect(searched.feeds.map(\.feed) == ["a/b"])
    #expect(searched.count == 1)
    #expect(searched.next == nil)
    let entry = try #require(searched.feeds.first)
    #expect(entry.partition == 1)
    #expect(entry.revision == 1)
    #expect(entry.items == 1)
    #expect(try Page(ground.ask("GET /v1/feeds?search=nothing")).feeds.isEmpty)
    await ground.end()
  }

  @Test(arguments: ["0", "1001", "x", "", "-1"])
  func `an invalid limit is refused`(limit: String) async throws {
    let ground = try ServedGround()
    let response = try ground.ask("GET /v1/feeds?limit=\(limit)")
    #expect(response.status == 400)
    #expect(response.text.contains("invalid-parameter"))
    await ground.end()
  }

  @Test func `a feed that does not exist differs from one that is not known yet`() async throws {
    let ground = try ServedGround(isAssigned: false)
    // No partitions are assigned.
    let early = try ground.ask("GET /v1/feeds/a")
    #expect(early.status == 503)
    #expect(early["Retry-After"] == "1")
    #expect(early.text.contains("restoring"))
    #expect(try ground.ask("GET /v1/feeds/a/changes").status == 503)
    #expect(try ground.ask("GET /v1/feeds").text.contains("\"standing\":\"bootstrapping\""))
    ground.assign(0..<1)
    let unknown = try await ground.ask("GET /v1/feeds/a", until: 404)
    #expect(unknown.text.contains("unknown-feed"))
    #expect(unknown.text.contains("it has the partitions 0,"))
    #expect(try ground.ask("GET /v1/feeds/a/changes").status == 404)
    #expect(try ground.ask("GET /v2").status == 404)
    #expect(try ground.ask("POST /v1/feeds").status == 405)
    #expect(try ground.ask("GET /v1/feeds", "Accept: text/html").status == 406)
    await ground.end()
  }

  @Test func `feeds of revoked partitions are not served, and are served again once they return`()
    async throws
  {
    let ground = try ServedGround(partitions: 2)
    try ground.publish(try await source.flush(("a", Self.item)), partition: 1)
    let reader = try await ground.follow("a")
    #expect(try await reader.nextChangeset() != nil)
    ground.assign(0..<1)
    let notice = try #require(try await reader.next(named: "moved"))
    #expect(notice.data == "{\"feed\":\"a\",\"partition\":1}")
    #expect(try await reader.next() == nil)
    let moved = try await ground.ask("GET /v1/feeds/a", until: 410)
    #expect(moved.text.contains("\"code\":\"moved\""))
    #expect(try ground.ask("GET /v1/feeds/a/changes").status == 410)
    ground.assign(0..<2)
    _ = try await ground.ask("GET /v1/feeds/a", until: 200)
    await ground.end()
  }

  @Test func `a client without a required token is told so`() async throws {
    let token = "correct-horse-battery-staple"
    let ground = try ServedGround(token: BearerToken(token))
    #expect(try ground.ask("GET /v1/feeds").status == 401)
    #expect(try ground.ask("GET /v1/feeds", "Authorization: Bearer \(token)").status == 200)
    await ground.end()
  }

  @Test func `the status has positions, counters and limits`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await source.flush(("a", Self.item), ("b", Self.item)))
    _ = try await ground.ask("GET /v1/feeds/b", until: 200)
    ground.server.status.lags([TopicPartition(topic: "feeds.items", partition: 0): 7], of: 0)
    let text = try await until("both feeds count") {
      let text = try ground.ask("GET /v1/status").text
      return text.contains("\"count\":2") ? text : nil
    }
    #expect(text.contains("{\"inputLag\":7,\"partition\":0,\"position\":2,"))
    #expect(text.contains("\"maxChanges\":5000"))
    #expect(text.contains("\"instance\":\"feedstore\""))
    await ground.end()
  }

  @Test func `a feed is not served before its partition has been read to the end`() async throws {
    let ground = try ServedGround(isAssigned: false)
    var records: [ChangesetSource.Record] = []
    for number in 1...500 {
      records += try await source.flush(("a", ChangesetSource.item("x", number)))
    }
    try ground.publish(records)
    ground.assign(0..<1)
    // It is requested continuously while it is read.
    let first = try await ground.ask("GET /v1/feeds/a", until: 200)
    #expect(first["ETag"] == "\"feeds.items:1795168800000/0@500\"")
    await ground.end()
  }
}
