import Foundation
import Testing

@testable import FeedStoreClient

/// Optimistic writes against a plain oracle: lists of lists, changed as the protocol says.
struct OverlayOracle {
  struct Item: Equatable {
    var id: String
    var kind: String
    var data: String
  }

  var sections: [(id: String, data: String, isOrdered: Bool, items: [Item])]

  init(_ state: FeedState) {
    sections = state.sections.map { section in
      let items = section.items.map { Item(id: $0.id.rawValue, kind: $0.kind, data: $0.dataText) }
      return (section.id.rawValue, section.dataText, section.order != nil, items)
    }
  }

  private func same(_ one: String, _ other: String) -> Bool { Array(one.utf8) == Array(other.utf8) }

  private func place(_ id: String) -> (Int, Int)? {
    for (index, section) in sections.enumerated() {
      for (place, item) in section.items.enumerated() where same(item.id, id) { return (index, place) }
    }
    return nil
  }

  mutating func apply(_ event: JSONObject) {
    let op = event["op"]?.string ?? ""
    let section = event["section"]?.string
    let target = section.flatMap { name in sections.firstIndex { same($0.id, name) } }
    if op == "section.upsert", let target, event["at"] == nil, event["order"] == nil, event["keep"] == nil {
      if let data = event["data"] { sections[target].data = data.compactText }
    }
    guard let id = event["item"]?.string else { return }
    switch op {
    case "item.upsert":
      if let (index, place) = place(id) {
        if let kind = event["kind"]?.string { sections[index].items[place].kind = kind }
        if let data = event["data"] { sections[index].items[place].data = data.compactText }
        if section != nil || event["at"] != nil { move(id, section, event["at"]) }
      } else if let target, !sections[target].isOrdered {
        let item = Item(id: id, kind: event["kind"]?.string ?? "", data: event["data"]?.compactText ?? "null")
        if let index = index(event["at"], in: sections[target].items, default: sections[target].items.count) {
          sections[target].items.insert(item, at: index)
        }
      }
    case "item.patch":
      guard let (index, place) = place(id), let patch = event["data"] else { return }
      let data = try? JSONText(checking: sections[index].items[place].data)
      sections[index].items[place].data = mergePatched(data, patch)
    case "item.move": move(id, section, event["at"])
    case "item.delete": if let (index, place) = place(id) { sections[index].items.remove(at: place) }
    default: break
    }
  }

  private mutating func move(_ id: String, _ section: String?, _ at: JSONText?) {
    guard let (index, place) = place(id) else { return }
    guard let target = section == nil ? index : sections.firstIndex(where: { same($0.id, section ?? "") })
    else { return }
    if sections[target].isOrdered || (target == index && at == nil) { return }
    var others = sections[target].items
    let item = sections[index].items[place]
    if target == index { others.remove(at: place) }
    guard let to = self.index(at, in: others, default: others.count) else { return }
    sections[index].items.remove(at: place)
    sections[target].items.insert(item, at: to)
  }

  private func index(_ at: JSONText?, in items: [Item], default index: Int) -> Int? {
    guard let at else { return index }
    if let word = at.string { return word == "first" ? 0 : items.count }
    let object = JSONObject(at)
    if let index = object?["index"]?.count { return min(index, items.count) }
    if let id = object?["before"]?.string { return items.firstIndex { same($0.id, id) } }
    return (object?["after"]?.string).flatMap { id in items.firstIndex { same($0.id, id) } }.map { $0 + 1 }
  }
}

@Suite(.enabled(if: Checkout.hasCommand)) struct OverlayTests {
  @Test func `random writes over random states show what the oracle shows`() throws {
    var records = RandomRecords(random: SeededRandom("overlay"), feeds: ["f"])
    var replica = Replica("f")
    var (shown, pendingItems) = (0, 0)
    for changeset in try Replay.changesets(records.lines(500), settings: ["coalesce.window": "0"]) {
      for text in changeset.texts { _ = try replica.apply(text) }
      let confirmed = replica.view.state
      let events = (0..<Int.random(in: 1...4, using: &records.random)).map { _ in records.event() }
      let writes = events.enumerated().map {
        PendingWrite(id: WriteID(number: $0), operations: PendingOperation.list($1))
      }
      var oracle = OverlayOracle(confirmed)
      for event in events { oracle.apply(try #require(JSONObject(try JSONText(checking: event)))) }
      let overlay = PendingOverlay(writes, window: .all)
      let (state, isPending) = overlay.applied(to: confirmed, former: FeedState())
      for (section, expected) in zip(state.sections, oracle.sections) {
        #expect(Array(section.dataText.utf8) == Array(expected.data.utf8))
        let items = section.items.map {
          OverlayOracle.Item(id: $0.id.rawValue, kind: $0.kind, data: $0.dataText)
        }
        #expect(items == expected.items, "\(events) over \(confirmed.document)")
        for item in section.items {
          let original = confirmed.itemsById[item.id]
          if let original, original.equals(item.with(isPending: false)) {
            // Only one that moved is another object.
            #expect(original === item || item.isPending)
          } else {
            #expect(item.isPending, "\(events)")
          }
          if item.isPending { pendingItems += 1 }
        }
      }
      if isPending { shown += 1 }
      // Applied again, nothing is another object.
      let again = overlay.applied(to: confirmed, former: state).0
      #expect(zip(again.sections, state.sections).allSatisfy { $0 === $1 })
      // Without writes it is what is confirmed.
      #expect(
        PendingOverlay([], window: .all).applied(to: confirmed, former: state).0.document
          == confirmed.document
      )
    }
    #expect(shown > 50 && pendingItems > 50)
  }

  @Test func `a window shows no more than it shows`() {
    var draft = SectionDraft(id: "s", dataText: "null")
    draft.items = ["b", "c"].map { FeedItem(id: ItemID($0), kind: "", section: "s", dataText: "1") }
    (draft.from, draft.total) = (1, 5)
    let state = FeedState(drafts: [draft], reusing: FeedState())
    func shown(_ event: FeedEvent) -> String {
      let writes = [PendingWrite(id: WriteID(number: 0), operations: PendingOperation.list(event.text))]
      let window = FeedWindow.items(of: "s", from: 1, count: 2)
      let section = PendingOverlay(writes, window: window).applied(to: state, former: FeedState()).0.sections[
        0
      ]
      return section.items.map(\.id.rawValue).joined() + " of \(section.of)"
    }
    #expect(shown(.upsert("n", section: "s", at: .index(2))) == "bn of 6")
    #expect(shown(.upsert("n", section: "s", at: .before("b"))) == "nb of 6")
    #expect(shown(.upsert("n", section: "s", at: .first)) == "bc of 6")
    #expect(shown(.upsert("n", section: "s")) == "bc of 6")
    #expect(shown(.move("b", at: .last)) == "c of 5")
    #expect(shown(.move("b", at: .after("z"))) == "bc of 5")
    #expect(shown(.delete("b")) == "c of 4")
    #expect(shown(.delete("z")) == "bc of 5")
    #expect(shown(.patch("z", 2)) == "bc of 5")
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
