import ChangesetTestSupport
import FeedConfiguration
import HTTPTestSupport
import Testing

/// Readers that are sent a large feed and do not read it.
struct LargeFeedReadersTests {
  private let source = ChangesetSource()

  @Test func `they are cut off for the next one, and small feeds are served all the time`() async throws {
    let ground = try ServedGround { $0.maxReloadBytes = 4_000_000 }
    try ground.publish(try await source.flush(("small", ChangesetSource.item("x"))))
    // More than sockets hold, in changesets that the broker takes.
    let items = 14
    for item in 1..<items { try await publish(item, 0, revision: item, on: ground) }
    var clients: [HTTPTestClient] = []
    for number in 0..<6 {
      // Each is sent a version of its own, half of them as documents, half as streams.
      try await publish(items, number, revision: items + number, on: ground)
      let path = number % 2 == 0 ? "/v1/feeds/large" : "/v1/feeds/large/changes"
      while true {
        let client = try ground.connect(receiveBufferBytes: 4096)
        try client.request("GET \(path)")
        // Those before it are called slow only after some time.
        guard try client.head().status == 200 else { continue }
        clients.append(client)
        break
      }
      #expect(try ground.ask("GET /v1/feeds/small").status == 200)
    }
    // Whoever reads is served in the end, though all the others still wait.
    let response = try await ground.ask("GET /v1/feeds/large", until: 200)
    #expect(response.text.contains("\"n\":5,"))
    #expect(try ground.ask("GET /v1/feeds/small").status == 200)
    _ = clients
    await ground.end()
  }

  /// Publishes an item of half a megabyte, and waits until it is served.
  private func publish(_ item: Int, _ number: Int, revision: Int, on ground: ServedGround) async throws {
    try ground.publish(
      try await source.flush(("large", ChangesetSource.item("x\(item)", number, size: 500_000)))
    )
    let marker = "\"revision\":\(revision),"
    while try !ground.ask("GET /v1/feeds?search=large").text.contains(marker) { await Task.yield() }
  }
}
