import Foundation
import Testing

@testable import FeedStoreClient

@Suite(.enabled(if: Checkout.hasVectors)) struct OverlayTests {
  private func sections(_ text: JSONText?) throws -> [SectionDraft] {
    try (text?.elements ?? []).map { text in
      let value = try #require(JSONObject(text))
      let id = SectionID(value["id"]?.string ?? "")
      let keys = value["order"]?.elements?.compactMap { JSONObject($0) }.map {
        OrderKey(by: $0["by"]?.string ?? "", isDescending: $0["direction"]?.string == "descending")
      }
      var draft = SectionDraft(
        id: id,
        dataText: value["data"]?.compactText ?? "",
        order: keys,
        keep: value["keep"]?.count
      )
      draft.items = (value["items"]?.elements ?? []).compactMap { JSONObject($0) }.map {
        FeedItem(
          id: ItemID($0["id"]?.string ?? ""),
          kind: $0["kind"]?.string ?? "",
          section: id,
          dataText: $0["data"]?.compactText ?? ""
        )
      }
      (draft.from, draft.total) = (value["from"]?.count ?? 0, value["of"]?.count)
      return draft
    }
  }

  /// What is compared of a section.
  private func plain(_ section: FeedSection) -> [String] {
    let items = section.items.map { "\($0.id) \($0.kind) \($0.data.text)" }
    return [
      "\(section.id) \(section.data.text) \(section.from)/\(section.of) \(section.order ?? []) \(section.keep ?? 0)"
    ] + items
  }

  @Test(arguments: Checkout.vectors("pending")) func `pending writes show what the vectors say`(
    _ name: String
  ) throws {
    for line in try Checkout.lines(name) {
      let title = Comment(rawValue: line["title"]?.string ?? "")
      let confirmed = FeedState(drafts: try sections(line["state"]), reusing: FeedState())
      let window = try #require(JSONObject(line["window"]))
      let shown = FeedWindow(
        sections: window["sections"]?.elements?.map { SectionID($0.string ?? "") },
        first: window["first"]?.count,
        from: window["from"]?.count,
        count: window["count"]?.count
      )
      let writes = (line["writes"]?.elements ?? []).enumerated().map {
        PendingWrite(id: WriteID(number: $0), operations: PendingOperation.list($1.text))
      }
      let overlay = PendingOverlay(writes, window: shown)
      let (state, isPending) = overlay.applied(to: confirmed, former: FeedState())
      let expected = FeedState(drafts: try sections(line["shown"]), reusing: FeedState())
      #expect(state.sections.map(plain) == expected.sections.map(plain), title)
      #expect(isPending || state.sections.map(plain) == confirmed.sections.map(plain), title)
      for item in state.sections.flatMap(\.items) {
        let original = confirmed.itemsById[item.id]
        if let original, original.equals(item.with(isPending: false)) {
          // Only one that moved is another object.
          #expect(original === item || item.isPending, title)
        } else {
          #expect(item.isPending, title)
        }
      }
      // Applied again, nothing is another object.
      let again = overlay.applied(to: confirmed, former: state).0
      #expect(zip(again.sections, state.sections).allSatisfy { $0 === $1 }, title)
      let none = PendingOverlay([], window: shown).applied(to: confirmed, former: state)
      #expect(!none.isPending && none.0.document == confirmed.document, title)
    }
  }
}

@Suite(.enabled(if: Checkout.hasCommand), .timeLimit(.minutes(5))) struct WriteTests {
  let server = FakeServer()

  private func begin(_ values: [String]) async throws -> (Feed, FeedUpdates.Iterator) {
    server.add(try Sample.history("f", values))
    server.publish("f")
    let feed = FeedStore(server.url).feed("f")
    let updates = feed.updates.makeAsyncIterator()
    _ = try await firstUpdate(updates) { $0.view.standing == .live }
    return (feed, updates)
  }

  private func answer(_ status: Int, _ body: String) {
    server.intercept { $0.path.hasSuffix("/events") ? (status, body, []) : nil }
  }

  private func isPending(_ update: FeedUpdate) -> Bool {
    if case .pending = update.kind { true } else { false }
  }

  @Test func `a write is shown at once, and confirmed when the view covers it`() async throws {
    let (feed, updates) = try await begin([Sample.star, Sample.move])
    let former = feed.view
    answer(202, "{\"feed\":\"f\",\"topic\":\"feeds.items\",\"partition\":0,\"offset\":1}")
    var requests = server.requests.makeAsyncIterator()
    async let written = feed.write(.patch("b", ["starred": true]))
    let shown = try await firstUpdate(updates, where: isPending)
    #expect(shown.view.isPending)
    #expect(shown.view.item("b")?.dataText == "{\"title\":\"b\",\"starred\":true}")
    #expect(shown.view.item("b")?.isPending == true)
    #expect(shown.view.item("a") === former.item("a"))
    let result = try await written
    #expect(result.offset == 1)
    #expect(result.revision == nil)
    let request = try await nextRequest(&requests) { $0.path == "/v1/feeds/f/events" }
    #expect(request.headers["prefer"] == "wait=10")
    #expect(request.body == "{\"op\":\"item.patch\",\"item\":\"b\",\"data\":{\"starred\":true}}")
    server.publish("f")
    let confirmed = try await firstUpdate(updates) { !$0.view.isPending }
    #expect(isPending(confirmed))
    #expect(confirmed.view.item("b")?.dataText == shown.view.item("b")?.dataText)
    #expect(confirmed.view.item("b")?.isPending == false)
    server.close()
  }

  @Test func `a write is shown over what arrives meanwhile`() async throws {
    let (feed, updates) = try await begin([Sample.move, Sample.star])
    answer(202, "{\"feed\":\"f\",\"topic\":\"feeds.items\",\"partition\":0,\"offset\":2}")
    try await feed.write(.patch("b", ["starred": true]))
    let shown = try await firstUpdate(updates, where: isPending)
    server.publish("f")
    let moved = try await firstUpdate(updates) { $0.view.revision == 2 }
    #expect(moved.view.outline[0] == "top: c a b d e f g")
    #expect(moved.view.item("b") === shown.view.item("b"))
    server.publish("f")
    #expect(try await firstUpdate(updates) { $0.view.revision == 3 }.view.isPending == false)
    server.close()
  }

  @Test func `a write that changes nothing more is confirmed by the answer`() async throws {
    let (feed, updates) = try await begin([])
    let epoch = feed.view.epoch ?? ""
    answer(
      200,
      "{\"feed\":\"f\",\"topic\":\"feeds.items\",\"partition\":0,\"offset\":7,\"epoch\":\"\(epoch)\",\"revision\":1}"
    )
    let written = try await feed.write(.patch("b", ["starred": true]))
    #expect(written.revision == 1)
    _ = try await firstUpdate(updates, where: isPending)
    #expect(try await firstUpdate(updates) { !$0.view.isPending }.view.item("b")?.data["starred"] == nil)
    server.close()
  }

  @Test func `a redirect does not take the token to another server`() async throws {
    let other = FakeServer()
    server.intercept { [url = other.url] _ in (307, "", ["Location: \(url.absoluteString)/v1"]) }
    let store = FeedStore(server.url) { "secret" }
    let failed = await #expect(throws: WriteFailed.self) { try await store.feed("f").write(.delete("b")) }
    #expect(failed?.message == "the server answers 307")
    let updates = store.feed("f").updates.makeAsyncIterator()
    _ = try await firstUpdate(updates) { $0.view.standing == .stale(.unavailable("the server answers 307")) }
    other.close()
    #expect(await other.requests.first { _ in true } == nil)
    server.close()
  }

  @Test func `a write that is rejected or lost is taken back, with the reason`() async throws {
    let (feed, updates) = try await begin([])
    let former = feed.view.item("b")
    for (status, body) in [
      (422, "{\"status\":422,\"code\":\"unknown-section\",\"detail\":\"there is no such section\"}"),
      (403, "{\"status\":403,\"code\":\"writes-off\",\"detail\":\"writes are off\"}"),
    ] {
      answer(status, body)
      let code = status == 422 ? "unknown-section" : "writes-off"
      let rejected = await #expect(throws: WriteRejected.self) { try await feed.write(.delete("b")) }
      #expect(rejected?.code == code)
      _ = try await firstUpdate(updates) { $0.view.item("b") == nil }
      #expect(try await firstUpdate(updates) { !$0.view.isPending }.view.item("b") === former)
    }
    for (status, body) in [
      (503, "{\"status\":503,\"code\":\"not-written\",\"detail\":\"no leader\"}"), (0, ""),
    ] {
      answer(status, body)
      let failed = await #expect(throws: WriteFailed.self) { try await feed.write(.delete("b")) }
      #expect(failed?.description.contains("may nevertheless be published") == true)
      #expect(feed.view.item("b") === former)
    }
    server.close()
  }
}
