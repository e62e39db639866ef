import Diagnostics
import FeedStatus
import FeedStore
import Glibc
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Settings
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedDaemon
@testable import FeedKafka

/// On the cluster named by `FEEDSTORE_TEST_BOOTSTRAP`, because the embedded one does not withhold records. Its topics
/// are not deleted.
struct OpenTransactionTests {
  private static let bootstrapServers = getenv("FEEDSTORE_TEST_BOOTSTRAP").map { String(cString: $0) }

  private static func configuration(_ servers: String) throws -> FeedStoreConfiguration {
    var configuration = FeedStoreConfiguration()
    let prefix = "feedstore.test.\(UInt64.random(in: 0...UInt64.max))."
    configuration.store.topics.items = prefix + "items"
    configuration.store.topics.sections = prefix + "items"
    configuration.store.topics.changesets = prefix + "changesets"
    configuration.store.topics.rejected = prefix + "rejected"
    configuration.kafka = [
      ConfigurationPair(name: "bootstrap.servers", value: servers),
      ConfigurationPair(name: "group.id", value: prefix + "group"),
    ]
    let topics = configuration.store.topics.distinct + [prefix + "changesets", prefix + "rejected"]
    let admin = try AdminClient(configuration: ["bootstrap.servers": servers], log: { _, _, _ in })
    let specifications = Set(topics).map { TopicSpecification($0, partitions: 2, replicationFactor: 1) }
    #expect(try admin.createTopics(specifications, timeoutMilliseconds: 120_000).isEmpty)
    _ = try admin.waitForTopics(specifications.map(\.name), timeoutMilliseconds: 120_000)
    try admin.close(timeoutMilliseconds: 120_000)
    return configuration
  }

  @Test(.enabled(if: bootstrapServers != nil, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
  func `an open transaction delays its partition, and no other`() async throws {
    let servers = try #require(Self.bootstrapServers)
    let configuration = try Self.configuration(servers)
    let client: KafkaConfiguration = ["bootstrap.servers": servers]
    let records = (0..<2).map {
      TopicRecord(partition: $0, "feed-\($0)", #"{"op":"section.upsert","section":"s"}"#)
    }
    try Ground.produce(records, to: configuration.store.topics.items, client)
    let received = Mutex(0)
    let stop = StopRequest()
    _ = try await Daemon(configuration, stop: stop, log: Ground.quiet) { event in
      guard case .received(let count) = event else { return }
      if received.withLock({
        $0 += count
        return $0
      }) == 2 {
        stop.request()
      }
    }.run()

    let other = try Transaction(client, topic: configuration.store.topics.changesets)
    let isAborted = Mutex(false)
    let output = DiagnosticOutput(isTerminal: false) { line in
      // Until only that partition is left.
      guard line.contains("event=restore.waiting"), line.contains(" partitions=1 ") else { return }
      let isFirst = isAborted.withLock { isAborted in
        defer { isAborted = true }
        return !isAborted
      }
      if isFirst { other.abort() }
    }
    // The other partition is restored first, separately.
    let report = try await restore(configuration, Log(level: .warning, output: output))
    #expect(report.feeds.map(\.feed) == ["feed-0", "feed-1"])
    #expect(isAborted.withLock { $0 }, "only the other partition was waited for")
  }

  @Test(.enabled(if: bootstrapServers != nil, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
  func `a transaction of a member that is gone is ended`() async throws {
    let servers = try #require(Self.bootstrapServers)
    let configuration = try Self.configuration(servers)
    let client: KafkaConfiguration = ["bootstrap.servers": servers]
    let record = TopicRecord(partition: 1, "feed-1", #"{"op":"section.upsert","section":"s"}"#)
    try Ground.produce([record], to: configuration.store.topics.items, client)
    let stop = StopRequest()
    _ = try await Daemon(configuration, stop: stop, log: Ground.quiet) { event in
      if case .received = event { stop.request() }
    }.run()

    // The committed metadata names the producer. The transaction has no offsets, but hides later changesets.
    let topic = configuration.store.topics.changesets
    let abandoned = try Transaction(client, topic: topic)
    var group = client
    group["group.id"] = configuration.kafka.first { $0.name == "group.id" }?.value
    let consumer = try Consumer(configuration: group, log: { _, _, _ in })
    let input = TopicPartition(topic: configuration.store.topics.items, partition: 1)
    let offset = try #require(try consumer.committed([input], timeoutMilliseconds: 120_000)[input]).offset
    try consumer.commit([input: CommittedOffset(offset, metadata: "member=gone producer=\(topic)")])
    try consumer.close(timeoutMilliseconds: 120_000)

    let report = try await restore(configuration, Ground.quiet)
    #expect(report.feeds.map(\.feed) == ["feed-1"])
    abandoned.close()
  }

  /// Runs a daemon until both partitions are restored.
  private func restore(_ configuration: FeedStoreConfiguration, _ log: Log) async throws -> DaemonReport {
    let stop = StopRequest()
    let restored = Mutex(0)
    return try await Daemon(configuration, stop: stop, log: log) { event in
      guard case .restored(let partitions, _) = event else { return }
      let count = restored.withLock { count in
        count += partitions
        return count
      }
      if count == 2 { stop.request() }
    }.run()
  }

  /// Another producer's transaction with a record in partition 1, open until `abort`.
  private final class Transaction: Sendable {
    private let producer: Mutex<TransactionalProducer>

    init(_ client: KafkaConfiguration, topic: String) throws {
      var client = client
      client["transactional.id"] = topic
      // The brokers' default maximum: it must not time out, however busy the machine is.
      client["transaction.timeout.ms"] = "900000"
      let producer = try TransactionalProducer(configuration: client, log: { _, _, _ in })
      try producer.initTransactions(timeoutMilliseconds: 120_000)
      try producer.begin()
      let key = OwnedBytes(Array("d1/other".utf8))
      try producer.produce(topic: topic, partition: 1, key: key.bytes, value: nil)
      try producer.flush(timeoutMilliseconds: 120_000)
      self.producer = Mutex(producer)
    }

    func abort() {
      do {
        try producer.withLock { producer throws(KafkaError) in try producer.abort() }
      } catch {
        Issue.record(error)
      }
      close()
    }

    func close() {
      #expect(throws: Never.self) {
        try producer.withLock { producer throws(KafkaError) in
          try producer.close(timeoutMilliseconds: 120_000)
        }
      }
    }
  }
}
