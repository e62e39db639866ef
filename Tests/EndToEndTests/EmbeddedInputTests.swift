import Diagnostics
import FeedStore
import HTTP
import HTTPTestSupport
import Kafka
import ObservationSupport
import OperatingSystem
import Settings
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedDaemon
@testable import FeedKafka
@testable import FeedStatus
@testable import FeedTools

/// The embedded broker keeps 5 MiB of a partition.
struct EmbeddedInputTests {
  private static let recordCount = 200

  /// 20 MB of one feed, and so of one partition.
  private static let lines = (0..<recordCount).map { number in
    let text = String(repeating: "x", count: 100_000)
    return
      #"{"key":"a","value":{"op":"section.upsert","section":"s","data":{"n":\#(number),"text":"\#(text)"}}}"#
  }

  private static func run(
    _ log: Log = Ground.quiet,
    publishing use: @escaping @Sendable (FeedStoreConfiguration) async throws -> Int
  ) async throws -> DaemonReport {
    try await run(FeedStoreConfiguration(), log) { _, configuration in try await use(configuration) }
  }

  /// Runs a daemon with its embedded broker, and calls `use` once others may write.
  ///
  /// - Parameter use: writes to the broker while the daemon runs, by the daemon's URL or that of the broker.
  private static func run(
    _ configuration: FeedStoreConfiguration,
    _ log: Log = Ground.quiet,
    publishing use: @escaping @Sendable (_ url: String, FeedStoreConfiguration) async throws -> Int
  ) async throws -> DaemonReport {
    let stop = StopRequest()
    let (events, continuation) = AsyncStream<DaemonEvent>.makeStream()
    let isServing = configuration.http.isEnabled
    let daemon = Daemon(configuration, isEmbedded: true, stop: stop, log: log) {
      continuation.yield($0)
    }
    async let running = {
      defer { continuation.finish() }
      return try await daemon.run()
    }()
    defer { stop.request() }
    var published: Int?
    var applied = 0
    var settings = FeedStoreConfiguration()
    for await event in events {
      switch event {
      case .listening(let address):
        settings.kafka = [ConfigurationPair(name: "bootstrap.servers", value: address)]
        // At once: the daemon has no partitions yet.
        if !isServing { published = try await use("", settings) }
      case .serving(let url): published = try await use(url, settings)
      case .committed(let counters): applied = counters.records
      default: break
      }
      if applied == published { break }
    }
    stop.request()
    return try await running
  }

  @Test func `a burst larger than the embedded broker's capacity is held back, and applied completely`()
    async throws
  {
    let file = try DemoFile(Self.lines.joined(separator: "\n"))
    let report = try await Self.run { configuration in
      let report = try await Ground.publish(file: file.path, configuration)
      #expect(report.records == Self.recordCount && report.undelivered == 0)
      return report.records
    }
    withExtendedLifetime(file) {}
    #expect(report.counters.records == Self.recordCount)
    #expect(report.counters.rejectedRecords == 0 && report.counters.noOps.isEmpty)
    #expect(report.feeds.map(\.feed) == ["a"])
  }

  @Test func `so is a burst of writes over HTTP`() async throws {
    var configuration = FeedStoreConfiguration()
    configuration.http.isEnabled = true
    configuration.http.server.port = 0
    configuration.http.takesWrites = true
    let report = try await Self.run(configuration) { url, _ in
      let port = try #require(Int(url.split(separator: ":").last ?? ""))
      let thread = WorkerThread(name: "writer")
      defer { thread.stop() }
      let statuses = try await withTaskExecutorPreference(thread) { @concurrent in
        let client = try HTTPTestClient(port: port)
        return try Self.lines.map { line in
          let value = String(line.dropFirst(#"{"key":"a","value":"#.count).dropLast())
          return try client.ask("POST /v1/feeds/a/events", body: value).status
        }
      }
      #expect(Set(statuses) == [202])
      return statuses.count
    }
    #expect(report.counters.records == Self.recordCount)
    #expect(report.feeds.map(\.feed) == ["a"])
  }

  @Test(arguments: [
    (
      [],
      "has 3000049 bytes, and the embedded broker takes at most 2620416; send a smaller record, or use Kafka"
    ),
    (
      ["message.max.bytes"],
      "has 3000049 bytes, and kafka.message.max.bytes is 2000000; raise it, or send a smaller record"
    ),
  ])
  func `publish refuses a record that is too large, and what came before it arrives`(
    limits: [String],
    problem: String
  ) async throws {
    func line(_ feed: String, _ bytes: Int) -> String {
      let data = String(repeating: "x", count: bytes)
      return
        #"{"key":"\#(feed)","value":{"op":"section.upsert","section":"s","data":"\#(data)"},"headers":["a",null]}"#
    }
    let file = try DemoFile([line("a", 1), line("b", 3_000_000)].joined(separator: "\n"))
    let report = try await Self.run { configuration in
      var configuration = configuration
      // The first limit that is exceeded is named.
      for limit in limits { configuration.kafka.append(ConfigurationPair(name: limit, value: "2000000")) }
      if !limits.isEmpty {
        configuration.kafka.append(ConfigurationPair(name: "compression.type", value: "gzip"))
      }
      let limited = configuration
      let error = await #expect(throws: ReplayError.self) {
        try await Ground.publish(file: file.path, limited)
      }
      #expect(
        error?.message.hasPrefix("\(file.path):2: the record \(problem)") == true,
        "\(String(describing: error))"
      )
      #expect(error?.message.hasSuffix("; records published before it: 1") == true)
      return 1
    }
    #expect(report.feeds.map(\.feed) == ["a"])
  }

  @Test(arguments: [
    (#"["a"]"#, #"the field 'headers' ends with the name "a" and no value; a header without one has null"#),
    (#"["a","1",null,"2"]"#, "the field 'headers' has null where the name of a header is expected"),
  ])
  func `publish sends a header whose value is null, and refuses others`(
    headers: String,
    problem: String
  )
    async throws
  {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    let lines = [#"["a",null,"b",""]"#, headers].map { #"{"key":"f","value":null,"headers":\#($0)}"# }
    let error = await #expect(throws: ReplayError.self) { try await ground.publish(lines) }
    #expect(error?.message.contains(":2: \(problem)") == true, "\(String(describing: error))")
    #expect(try ground.contents(of: "feeds.items", partitions: 1).map(\.headers) == [["a": "", "b": ""]])
  }

  @Test func `a record larger than half of the capacity is refused, and other records are not affected`()
    async throws
  {
    let section = #"{"op":"section.upsert","section":"s"}"#
    let lines = Mutex<[String]>([])
    let log = Ground.log(.error) { line in lines.withLock { $0.append(line) } }
    let report = try await Self.run(log) { configuration in
      let topic = configuration.store.topics.items
      let client: KafkaConfiguration = [
        "bootstrap.servers": configuration.kafka[0].value, "message.max.bytes": "10000000",
      ]
      try Ground.produce([TopicRecord("a", section)], to: topic, client)
      // Only for this one: on a busy machine others take longer.
      var impatient = client
      impatient["message.timeout.ms"] = "2000"
      let producer = try Producer(configuration: impatient, log: { _, _, _ in })
      let large = OwnedBytes([UInt8](repeating: 0x20, count: ProduceCredit.greatestRequestBytes))
      try producer.produce(topic: topic, partition: 0, key: nil, value: large.bytes)
      try producer.flush(timeoutMilliseconds: 30_000)
      #expect(producer.takeDeliveryErrors().count == 1)
      try producer.close(timeoutMilliseconds: 10_000)
      try Ground.produce([TopicRecord("b", section)], to: topic, client)
      return 2
    }
    #expect(report.feeds.map(\.feed) == ["a", "b"])
    #expect(report.counters.rejectedRecords == 0)
    #expect(lines.withLock { $0.contains { $0.contains("event=embedded.request-refused") } })
  }
}
