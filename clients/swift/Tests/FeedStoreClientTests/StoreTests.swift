import Foundation
import Testing

@testable import FeedStoreClient

/// The shell of the machine.
@Suite(.timeLimit(.minutes(2))) struct StoreTests {
  private struct NoSession: Error, CustomStringConvertible { let description = "the session is over" }

  @Test func `what was not sent is not published, and errors are in words`() async throws {
    let refusing = FeedStore(URL(string: "http://127.0.0.1:9")!)
    let refused = await #expect(throws: WriteFailed.self) { try await refusing.feed("f").write(.delete("i")) }
    #expect(refused?.description.hasSuffix("; nothing was written") == true)
    #expect(refused?.description.contains("Error Domain") == false)
    let store = FeedStore(URL(string: "http://127.0.0.1:9")!) { throw NoSession() }
    let failed = await #expect(throws: WriteFailed.self) { try await store.feed("f").write(.delete("i")) }
    #expect(failed?.description == "there is no token: the session is over; nothing was written")
    let updates = store.feed("f").updates.makeAsyncIterator()
    let stale = try await firstUpdate(updates) { $0.view.standing.reason != nil }
    #expect(stale.view.standing.detail == "there is no token: the session is over")
    #expect(store.standing.reason == .tokenNeeded)
    #expect(await store.standings.first { _ in true }?.reason == .tokenNeeded)
    let dump = words(for: NSError(domain: "d", code: 7, userInfo: [NSLocalizedDescriptionKey: "no network"]))
    #expect(dump == "no network")
  }

  @Test func `a condition is a member of the first event`() {
    let condition = FeedCondition(revision: 7, epoch: "e", item: "a\"", data: ["/b": 1, "/a~1": nil])
    #expect(
      FeedEvent.delete("i").with(condition).text
        == #"{"if":{"revision":7,"epoch":"e","item":"a\"","data":{"/a~1":null,"/b":1}},"op":"item.delete","item":"i"}"#
    )
    #expect(
      FeedEvent(json: " { \"op\":\"feed.clear\"}").with(FeedCondition(absent: "x")).text
        == #"{"if":{"absent":"x"}, "op":"feed.clear"}"#
    )
  }

  @Test func `a redirect does not take the token to another server`() async throws {
    let code = """
      import http.server
      class Handler(http.server.BaseHTTPRequestHandler):
          def do_POST(self):
              print(self.path, flush=True)
              self.send_response(307)
              self.send_header("Location", "/elsewhere")
              self.send_header("Content-Length", "0")
              self.end_headers()
      server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
      print("port", server.server_port, flush=True)
      server.serve_forever()
      """
    let server = try Program(URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", code])
    defer { server.kill() }
    let port = try await server.line(with: "port").dropFirst(5)
    let feed = FeedStore(URL(string: "http://127.0.0.1:\(port)")!) { "secret" }.feed("a/b")
    for _ in 0..<2 {
      let failed = await #expect(throws: WriteFailed.self) { try await feed.write(.delete("i")) }
      #expect(failed?.message == "the server answers 307" && failed?.wasSent == true)
      #expect(try await server.line(with: "/") == "/v1/feeds/a%2Fb/events")
    }
  }

  @Test
  func `a slow reader gets the newest state instead of all between, and what is not known is not absent`()
    async
  {
    for isAbsent in [false, true] {
      let mailbox = Mailbox()
      if isAbsent { mailbox.deliver(FeedUpdate(kind: .absent, view: FeedView(feed: "f", standing: .live))) }
      for number in 0..<33 {
        let view = FeedView(feed: "f", standing: .stale(.disconnected, detail: "\(number)"))
        mailbox.deliver(FeedUpdate(kind: .standing, view: view))
      }
      let newest = await mailbox.next()
      if case .absent = newest?.kind { #expect(isAbsent) } else { #expect(!isAbsent) }
      #expect(isAbsent || newest?.view.standing.detail == "32")
    }
  }

  @Test func `a loop ends with its task, and when its store is closed`() async {
    let store = FeedStore(URL(string: "http://127.0.0.1:9")!)
    let feed = store.feed("f")
    let (loop, other) = (Task { for await _ in feed.updates {} }, Task { for await _ in feed.updates {} })
    let standings = Task { for await _ in store.standings {} }
    loop.cancel()
    await loop.value
    store.close()
    await other.value
    await standings.value
    for await _ in feed.updates {}
    let failed = await #expect(throws: WriteFailed.self) { try await feed.write(.delete("i")) }
    #expect(failed?.description == "the store is closed; nothing was written")
  }

  @Test func `ids are encoded for paths`() {
    #expect(StoreMachine.encoded("a/b ü.~-_%") == "a%2Fb%20%C3%BC.~-_%25")
    #expect(StoreMachine.encoded("..") == "%2E%2E")
  }
}
