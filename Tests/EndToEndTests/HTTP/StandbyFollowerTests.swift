import Diagnostics
import FeedClient
import FeedConfiguration
import FeedStore
import FeedWorker
import HTTP
import HTTPTestSupport
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Oracle
import Standby
import Synchronization
import Testing

@testable import FeedDaemon
@testable import FeedStatus

/// Daemons that serve feeds over HTTP, with one follower each for that, for standby and for restorations.
struct StandbyFollowerTests {
  /// A daemon in this process, its log, and its HTTP server.
  private final class Member: Sendable {
    let stop = StopRequest()
    private let lines = Mutex<[String]>([])
    private let url = Mutex("")
    private let running = Mutex<Task<DaemonReport, any Error>?>(nil)

    func start(_ ground: Ground) {
      let log = Ground.log { [self] line in lines.withLock { $0.append(line) } }
      let daemon = ground.daemon(stop: stop, log: log) { [self] event in
        if case .serving(let address) = event { url.withLock { $0 = address } }
      }
      running.withLock { $0 = Task { [daemon] in try await daemon.run() } }
    }

    func end() async throws {
      stop.request()
      _ = try await running.withLock { $0 }?.value
    }

    /// The lines of an event.
    func lines(_ event: LogEvent) -> [String] {
      lines.withLock { $0.filter { $0.contains("event=\(event.name) ") } }
    }

    /// The numbers in the lines of restorations.
    func restored(_ field: String) -> [Int] {
      lines(.restoreFinished).compactMap { line in
        line.split(separator: " ").first { $0.hasPrefix(field + "=") }.flatMap {
          Int($0.dropFirst(field.count + 1))
        }
      }
    }

    func client() async throws -> HTTPTestClient {
      try HTTPTestClient(
        port: try await until("it serves") { Int(url.withLock { $0 }.split(separator: ":").last ?? "") }
      )
    }

    func ask(_ path: String) async throws -> HTTPTestResponse {
      let client = try await client()
      try client.request("GET \(path)", "Connection: close")
      return try client.response()
    }

    /// Waits until each feed's state contains a text.
    func serves(_ text: String) async throws {
      for feed in 0..<2 {
        try await until("feed-\(feed) has \(text)") {
          let response = try await ask("/v1/feeds/feed-\(feed)")
          return response.status == 200 && response.text.contains(text)
        }
      }
    }

    func open(_ feed: String) async throws -> EventReader {
      let client = try await client()
      try client.send("GET /v1/feeds/\(feed)/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
      let reader = EventReader(client)
      #expect(try await reader.status() == 200)
      return reader
    }
  }

  private static func ground(isOnStandby: Bool) throws -> Ground {
    var ground = try Ground(partitions: 2)
    ground.configuration.http.isEnabled = true
    ground.configuration.http.server.port = 0
    ground.configuration.http.server.threads = 1
    ground.configuration.standby.isEnabled = isOnStandby
    ground.configuration.store.coalescing.windowMilliseconds = 1
    ground.configuration.store.coalescing.idleWindowMilliseconds = 1
    // Many changesets.
    ground.configuration.store.coalescing.maxRecords = 4
    return ground
  }

  /// A record for each feed; `feed-0` and `feed-1` are in the partitions of these numbers.
  private static func records(_ numbers: Range<Int>) -> [TopicRecord] {
    numbers.flatMap { number in
      (0..<2).map { feed in
        TopicRecord(
          partition: Int32(feed),
          timestamp: WallClock.milliseconds(),
          "feed-\(feed)",
          """
          {"op":"item.upsert","item":"i\(number)","section":"s","kind":"k","data":{"n":"number \(number)."}}
          """
        )
      }
    }
  }

  @Test func `every member serves every feed, and takes over what it has followed without reading it`()
    async throws
  {
    let ground = try Self.ground(isOnStandby: true)
    defer { ground.cluster.stop() }
    try ground.produce(Self.records(0..<100), to: "feeds.items")
    let (first, second) = (Member(), Member())
    first.start(ground)
    try await first.serves("number 99.")

    second.start(ground)
    // One partition moves to the second, and each follows the other's.
    for member in [first, second] {
      try await until("standby is ready") {
        member.lines(.standbyReady).contains { $0.contains("followed=1") }
      }
      try await member.serves("number 99.")
    }
    let status = try await second.ask("/v1/status").text
    #expect(status.contains(#""standing":"up-to-date""#))
    #expect(status.contains(#""standby":{"damaged":[],"followed":["#))
    #expect(status.contains(#""feeds":{"count":2,"#))
    let readers = [try await second.open("feed-0"), try await second.open("feed-1")]
    for reader in readers { #expect(try await reader.next(named: "up-to-date") != nil) }

    // The first ends, and its partition goes to the second, which has followed it.
    let before = second.restored("standby").count
    try await first.end()
    try await until("the second restores it") { second.restored("standby").count > before }
    #expect(second.restored("standby").dropFirst(before) == [1])
    // Nothing was published in between.
    #expect(second.restored("records").dropFirst(before) == [0])

    // The streams were not affected.
    try ground.produce(Self.records(100..<101), to: "feeds.items")
    for reader in readers {
      let plan = try #require(try await reader.next())
      #expect(plan.name == "plan", "\(plan)")
      let change = try #require(try await reader.next())
      #expect(change.name == nil, "\(change)")
      #expect(change.data.contains("number 100."))
      await reader.end()
    }
    try await second.end()
  }

  @Test func `without standby, what is served is not read again to restore it`() async throws {
    let ground = try Self.ground(isOnStandby: false)
    defer { ground.cluster.stop() }
    try ground.produce(Self.records(0..<100), to: "feeds.items")
    let first = Member()
    first.start(ground)
    try await first.serves("number 99.")
    // The outcome of a commit is not known, so everything is restored again.
    try ground.cluster.pushRequestErrors(.endTxn, [.invalidProducerEpoch])
    try ground.produce(Self.records(100..<101), to: "feeds.items")
    try await until("both are restored") { first.restored("standby").reduce(0, +) >= 2 }
    // Of more than fifty changesets, the last ones.
    let read = first.restored("records").last ?? .max
    #expect(read < 10, "\(read) records were read")
    try await first.serves("number 100.")
    #expect(!(try await first.ask("/v1/status").text.contains("standby")))
    try await first.end()
  }
}
