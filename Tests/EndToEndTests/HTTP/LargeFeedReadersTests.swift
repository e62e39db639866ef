import ChangesetTestSupport
import FeedConfiguration
import HTTPTestSupport
import Testing

/// Readers of a large feed that stop reading.
struct LargeFeedReadersTests {
  private let source = ChangesetSource()

  @Test func `stalled readers are disconnected for new ones, and small feeds are always served`() async throws
  {
    let ground = try ServedGround { $0.maxReloadBytes = 4_000_000 }
    try ground.publish(try await source.flush(("small", ChangesetSource.item("x"))))
    // More than sockets hold, in changesets that the broker accepts.
    let items = 14
    for item in 1..<items { try await publish(item, 0, revision: item, on: ground) }
    var clients: [HTTPTestClient] = []
    for number in 0..<6 {
      // Each is sent another version, half of them as documents, half as streams.
      try await publish(items, number, revision: items + number, on: ground)
      let path = number % 2 == 0 ? "/v1/feeds/large" : "/v1/feeds/large/changes"
      while true {
        let client = try ground.connect(receiveBufferBytes: 4096)
        try client.request("GET \(path)")
        // Earlier readers count as slow only after some time.
        guard try client.head().status == 200 else { continue }
        clients.append(client)
        break
      }
      #expect(try ground.ask("GET /v1/feeds/small").status == 200)
    }
    // A client that reads is served eventually, although all others are stalled.
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
