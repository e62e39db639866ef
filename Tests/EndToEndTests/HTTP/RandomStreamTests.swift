import ChangesetTestSupport
import Feed
import FeedConfiguration
import HTTP
import HTTPTestSupport
import Oracle
import Testing

/// Clients that connect and disconnect at random end with the server's feeds.
struct RandomStreamTests {
  private final class Client {
    let feed: String
    let replica: StreamedReplica
    var reader: EventReader?

    init(_ feed: String) {
      self.feed = feed
      replica = StreamedReplica(feed)
    }
  }

  @Test(arguments: [71, 72, 73] as [UInt64])
  func `clients that connect and disconnect at random end with the current feed`(seed: UInt64) async throws {
    // Small limits, so that the history is short and some readers are too slow.
    let ground = try ServedGround {
      $0.maxHistoryBytes = 20_000
      $0.server.maxStreamQueueBytes = 3_000
    }
    let source = ChangesetSource(maxMessageBytes: 66_000, maxDeltas: 10)
    var options = GeneratorOptions()
    options.badPercent = 0
    options.partitionCount = 1
    options.isPlain = true
    if seed.isMultiple(of: 2) { options.addOrders() }
    var generator = RecordGenerator(seed: seed, options: options)
    var random = SplitMix64(seed: seed)
    let feeds = ["hn", "a/b/c", "\u{1F600}"]
    for feed in feeds {
      try ground.publish(try await source.flush((feed, "{\"op\":\"feed.replace\",\"sections\":[]}")))
    }
    let clients = (0..<9).map { Client(feeds[$0 % feeds.count]) }

    for _ in 0..<60 {
      for record in generator.records(5) {
        let key = String(decoding: record.key ?? [], as: UTF8.self)
        let value = record.value.map { String(decoding: $0, as: UTF8.self) }
        try ground.publish(try await source.flush((key, value)))
      }
      for client in clients {
        if random.chance(20) {
          await client.reader?.end()
          client.reader = nil
        }
        if client.reader == nil, random.chance(50) {
          client.reader = try await ground.open(client.feed, after: client.replica.lastID)
        }
        // Waits only for what must come next: the first message of a new stream.
        if client.reader != nil, client.replica.lastID == nil { try await take(1, client) }
      }
    }

    // A final change, for which all clients wait.
    for feed in feeds {
      try ground.publish(try await source.flush((feed, ChangesetSource.item("end", Int(seed)))))
    }
    for client in clients {
      let tag = try await ground.tag(of: client.feed, containing: "{\"id\":\"end\"")
      if client.reader == nil {
        client.reader = try await ground.open(client.feed, after: client.replica.lastID)
      }
      while client.replica.version != tag { try await take(1, client) }
      let response = try ground.ask("GET /v1/feeds/\(PercentEncoding.encode(client.feed))")
      #expect(client.replica.document == response.text, "seed \(seed)")
      #expect(client.replica.faults == 0, "seed \(seed)")
    }
    await ground.end()
  }

  /// Takes a number of changesets from a client's stream. If the stream ends, the client reconnects.
  private func take(_ count: Int, _ client: Client) async throws {
    for _ in 0..<count {
      guard let message = try await client.reader?.next(named: nil) else {
        client.reader = nil
        return
      }
      try client.replica.take(message)
    }
  }
}
