import ChangesetTestSupport
import FeedConfiguration
import FeedDaemon
import FeedStore
import HTTP
import HTTPTestSupport
import Kafka
import ObservationSupport
import OperatingSystem
import Synchronization
import Testing

@testable import FeedStatus

/// A daemon with streams whose clients do not read.
struct SlowReadersTests {
  private static let readers = 1000
  /// The beginning of a line with a changeset, unlike that of a notice.
  private static let changeset = Array("data: {\"feed\":\"a\",\"epoch\":\"feeds.items/0\",\"revision\":".utf8)
  /// A socket at each end, and the files of other tests.
  private static let neededFiles = 6000

  private static func record(_ number: Int) -> TopicRecord {
    let padding = String(repeating: "x", count: 5_000)
    return TopicRecord(
      timestamp: 1_795_168_800_000 + Int64(number),
      "a",
      "{\"op\":\"item.upsert\",\"item\":\"x\",\"section\":\"s\",\"data\":{\"n\":\(number),\"p\":\"\(padding)\"}}"
    )
  }

  @Test(
    .enabled(
      if: OpenFiles.allow(neededFiles) >= neededFiles,
      "a thousand clients in one process need \(neededFiles) open files (ulimit -Hn)"
    )
  )
  func `a thousand stalled readers do not keep the store from publishing`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.maxRecords = 1
    ground.configuration.http.isEnabled = true
    ground.configuration.http.server.port = 0
    ground.configuration.http.server.maxStreamQueueBytes = 16_384
    // They must not be disconnected, however busy the machine is.
    ground.configuration.http.server.idleTimeoutSeconds = 3600
    let stop = StopRequest()
    let (events, continuation) = AsyncStream<DaemonEvent>.makeStream()
    let daemon = ground.daemon(stop: stop) { continuation.yield($0) }
    async let running = daemon.run()
    var iterator = events.makeAsyncIterator()
    guard case .serving(let url)? = await iterator.next(),
      let port = Int(url.split(separator: ":").last ?? "")
    else {
      Issue.record("the daemon does not serve")
      return
    }
    try ground.produce([Self.record(0)], to: "feeds.items")
    try await until("the feed is served") { try Self.ask(port, "/v1/feeds/a").status == 200 }

    let thread = WorkerThread(name: "slow readers")
    defer { thread.stop() }
    let clients = try await withTaskExecutorPreference(thread) { @concurrent in try Self.connect(port) }
    let records = 100
    try ground.produce((1...records).map(Self.record), to: "feeds.items")
    // Everything is published, although no client reads.
    while let event = await iterator.next() {
      if case .committed(let counters) = event, counters.records == records + 1 { break }
    }
    try await until("the last record is served") {
      try Self.ask(port, "/v1/feeds/a").text.contains("\"n\":\(records),")
    }
    try await until("each stream rejects a message") { try Self.refused(port) >= Self.readers }
    let status = try Self.ask(port, "/v1/status").text
    #expect(status.contains("\"streams\":\(Self.readers)"))

    // When they continue to read, each gets the newest state.
    let counts = try await withTaskExecutorPreference(thread) { @concurrent in
      try clients.all.map { client throws in
        let content = try client.content(until: "\"revision\":\(records + 1),")
        return content.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: Self.changeset) }.count
      }
    }
    #expect(counts.allSatisfy { $0 < records })
    stop.request()
    let report = try await running
    #expect(report.counters.records == records + 1)
    #expect(report.feeds.first?.revision == UInt64(records + 1))
  }

  /// Unchecked: used on one thread, one call after the other.
  private struct Clients: @unchecked Sendable {
    let all: [HTTPTestClient]
  }

  private static func connect(_ port: Int) throws -> Clients {
    let clients = try (0..<readers).map { _ in
      let client = try HTTPTestClient(port: port, receiveBufferBytes: 4096)
      try client.request("GET /v1/feeds/a/changes")
      return client
    }
    for client in clients { #expect(try client.head().status == 200) }
    return Clients(all: clients)
  }

  /// The number of messages that full streams rejected.
  private static func refused(_ port: Int) throws -> Int {
    let status = try ask(port, "/v1/status").text
    let count = try #require(status.firstMatch(of: #/"droppedEvents":(\d+)/#)?.1)
    return try #require(Int(count))
  }

  private static func ask(_ port: Int, _ path: String) throws -> HTTPTestResponse {
    let client = try HTTPTestClient(port: port)
    try client.request("GET \(path)", "Connection: close")
    return try client.response()
  }
}

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
      // Each receives another version, half of them as documents, half as streams.
      try await publish(items, number, revision: items + number, on: ground)
      let path = number % 2 == 0 ? "/v1/feeds/large" : "/v1/feeds/large/changes"
      let client = try await until("earlier readers count as slow, and make room") {
        let client = try ground.connect(receiveBufferBytes: 4096)
        try client.request("GET \(path)")
        return try client.head().status == 200 ? client : nil
      }
      clients.append(client)
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
    try await until("\(marker) is listed") {
      try ground.ask("GET /v1/feeds?search=large").text.contains(marker)
    }
  }
}
