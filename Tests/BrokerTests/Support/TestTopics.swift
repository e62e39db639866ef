import CRdkafka
import Diagnostics
import FeedConfiguration
import FeedStore
import FeedTools
import FoundationEssentials
import Kafka
import KafkaTestSupport
import ObservationSupport
import Settings

@testable import FeedKafka

/// The topics and the group of a single run.
struct TestTopics: Sendable {
  /// The prefix of the topics' names, and the group's name.
  let prefix: String
  let partitions: Int32
  let names: TopicNames

  static let quiet = Log(level: .error, output: DiagnosticOutput(isTerminal: false) { _ in })
  private static let creationMilliseconds: Int32 = 120_000

  /// - Parameters:
  ///   - label: a word that identifies the run on the cluster.
  ///   - hasContents: whether there is a topic of contents.
  init(_ label: String, partitions: Int32, hasContents: Bool = false) {
    prefix = "feedstore.test.\(label).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
    self.partitions = partitions
    var names = TopicNames()
    names.sections = prefix + ".sections"
    names.items = prefix + ".items"
    names.changesets = prefix + ".changesets"
    names.rejected = prefix + ".rejected"
    if hasContents { names.contents = prefix + ".contents" }
    self.names = names
  }

  /// The configuration of the tests' clients.
  var client: KafkaConfiguration { ["bootstrap.servers": TestCluster.bootstrapServers ?? ""] }

  /// The configuration of daemons, with short timeouts.
  var settings: [String: String] {
    [
      "kafka.bootstrap.servers": TestCluster.bootstrapServers ?? "",
      "kafka.group.id": prefix,
      // The brokers' default minimum.
      "kafka.session.timeout.ms": "6000",
      "kafka.heartbeat.interval.ms": "500",
      "topics.sections": names.sections,
      "topics.items": names.items,
      "topics.changesets": names.changesets,
      "topics.rejected": names.rejected,
      "topics.contents": names.contents,
    ].compactMapValues { $0 }
  }

  /// Every partition of these topics.
  func all(_ topics: [String]) -> [TopicPartition] {
    topics.flatMap { topic in (0..<partitions).map { TopicPartition(topic: topic, partition: $0) } }
  }

  /// Creates all topics as `feedstore topics --create` does.
  ///
  /// - Parameter compaction: settings of the changesets topic; none for the defaults.
  func create(compaction: [String: String] = [:]) async throws {
    if !compaction.isEmpty {
      let admin = try AdminClient(configuration: client, log: { _, _, _ in })
      let topic = TopicSpecification(
        names.changesets,
        partitions: partitions,
        configuration: compaction.merging(["cleanup.policy": "compact"]) { $1 }
      )
      let failures = try admin.createTopics([topic], timeoutMilliseconds: Self.creationMilliseconds)
      try BrokerFailure.check(failures.isEmpty, "\(failures.values)")
      _ = try admin.waitForTopics([topic.name], timeoutMilliseconds: Self.creationMilliseconds)
      try admin.close(timeoutMilliseconds: Self.creationMilliseconds)
    }
    var configuration = FeedStoreConfiguration()
    configuration.kafka = [
      ConfigurationPair(name: "bootstrap.servers", value: TestCluster.bootstrapServers ?? "")
    ]
    configuration.store.topics = names
    var setup = TopicSetup(configuration, log: Self.quiet)
    setup.creates = true
    setup.partitions = partitions
    let report = try await setup.run()
    try BrokerFailure.check(report.failures.isEmpty, report.failures.joined(separator: "; "))
    try waitForBrokers(names.distinct, partitions)
  }

  /// Waits until each broker of the cluster knows topics: they learn of new ones separately.
  private func waitForBrokers(_ topics: [String], _ partitions: Int32) throws {
    let deadline = ContinuousClock.now + .milliseconds(Self.creationMilliseconds)
    for server in (TestCluster.bootstrapServers ?? "").split(separator: ",") {
      let client: KafkaConfiguration = ["bootstrap.servers": String(server)]
      let admin = try AdminClient(configuration: client, log: { _, _, _ in })
      defer { try? admin.close(timeoutMilliseconds: Self.creationMilliseconds) }
      while true {
        let known = try admin.waitForTopics(topics, timeoutMilliseconds: Self.creationMilliseconds)
        if topics.allSatisfy({ known.partitionCounts[$0] == partitions }) { break }
        try BrokerFailure.check(ContinuousClock.now < deadline, "\(server) does not know \(topics)")
      }
    }
  }

  /// Deletes the topics. Brokers then forget the group's offsets, and the group.
  func delete() throws {
    let admin = try AdminClient(configuration: client, log: { _, _, _ in })
    let failures = try admin.deleteTopics(names.distinct, timeoutMilliseconds: Self.creationMilliseconds)
    try admin.close(timeoutMilliseconds: Self.creationMilliseconds)
    try BrokerFailure.check(failures.isEmpty, "\(failures.values)")
  }
}

/// The Kafka cluster for tests, and related settings from the environment.
enum TestCluster {
  static let bootstrapServers = text("FEEDSTORE_TEST_BOOTSTRAP")
  static var isThere: Bool { bootstrapServers != nil }

  /// The number of kills per test.
  static let kills = number("FEEDSTORE_TEST_KILLS") ?? 5
  /// A command that restarts the brokers; nil if the tests may not restart them.
  static let restartCommand = text("FEEDSTORE_TEST_RESTART")
  /// The command of an earlier commit; nil if none was built.
  static let earlierCommand = text("FEEDSTORE_TEST_EARLIER")
  /// Whether both builds can be members of one group.
  static let canMix = text("FEEDSTORE_TEST_EARLIER_CANNOT_MIX") == nil
  /// The duration of a soak; nil unless one was requested.
  static let soakMinutes = number("FEEDSTORE_SOAK_MINUTES")

  /// The seed of random choices: a new one each time, or that of a run to repeat.
  static var seed: UInt64 {
    text("FEEDSTORE_TEST_SEED").flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
  }

  private static func text(_ name: String) -> String? {
    let text = ProcessInfo.processInfo.environment[name]
    return text?.isEmpty == false ? text : nil
  }

  private static func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }
}

extension TestTopics {
  /// librdkafka's client, for calls that the module Kafka lacks. The caller destroys it.
  func rawClient(
    _ type: rd_kafka_type_t,
    _ settings: [(String, String)] = []
  ) throws(BrokerFailure) -> OpaquePointer {
    let configuration = rd_kafka_conf_new()
    for (name, value) in client.properties.map({ ($0.name, $0.value) }) + settings {
      let result = rd_kafka_conf_set(configuration, name, value, nil, 0)
      try BrokerFailure.check(result == RD_KAFKA_CONF_OK, "\(name) cannot be \(value)")
    }
    guard let client = rd_kafka_new(type, configuration, nil, 0) else {
      throw BrokerFailure("the client could not be made")
    }
    return client
  }

  /// Adds partitions to topics, up to a number.
  func addPartitions(to names: [String], upTo count: Int) throws {
    let client = try rawClient(RD_KAFKA_PRODUCER)
    defer { rd_kafka_destroy(client) }
    var partitions: [OpaquePointer?] = names.map { rd_kafka_NewPartitions_new($0, count, nil, 0) }
    defer { rd_kafka_NewPartitions_destroy_array(&partitions, partitions.count) }
    let queue = rd_kafka_queue_new(client)
    defer { rd_kafka_queue_destroy(queue) }
    rd_kafka_CreatePartitions(client, &partitions, partitions.count, nil, queue)
    let event = rd_kafka_queue_poll(queue, 120_000)
    defer { rd_kafka_event_destroy(event) }
    try BrokerFailure.check(
      rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR,
      "no partitions were added"
    )
    var found = 0
    let results = rd_kafka_CreatePartitions_result_topics(
      rd_kafka_event_CreatePartitions_result(event),
      &found
    )
    for index in 0..<found {
      let code = rd_kafka_topic_result_error(results?[index])
      try BrokerFailure.check(code == RD_KAFKA_RESP_ERR_NO_ERROR, "\(names): \(code)")
    }
    try waitForBrokers(names, Int32(count))
  }

  /// Deletes a topic and creates it again under its name.
  func recreate(_ name: String) throws {
    let admin = try AdminClient(configuration: client, log: { _, _, _ in })
    let failures = try admin.deleteTopics([name], timeoutMilliseconds: 120_000)
    try BrokerFailure.check(failures.isEmpty, "\(failures.values)")
    // Brokers need a moment to forget it.
    while true {
      let topic = TopicSpecification(name, partitions: partitions)
      guard let error = try admin.createTopics([topic], timeoutMilliseconds: 120_000)[name] else { break }
      try BrokerFailure.check(error.kind == .topicAlreadyExists, "\(error)")
    }
    try admin.close(timeoutMilliseconds: 120_000)
  }
}

extension TestTopics {
  /// Sends item records, outside of transactions.
  ///
  /// - Parameter record: returns partition, key and value of a record by its number.
  func produce(_ count: Int, _ record: (Int) -> (partition: Int32, key: String, value: String)) throws {
    let producer = try Producer(configuration: client, log: { _, _, _ in })
    for number in 0..<count {
      let (partition, key, value) = record(number)
      try produce(OwnedBytes(Array(key.utf8)), OwnedBytes(Array(value.utf8)), to: partition, producer)
    }
    try flush(producer)
    let errors = producer.takeDeliveryErrors()
    try BrokerFailure.check(errors.isEmpty, "\(errors.errors)")
    try producer.close(timeoutMilliseconds: 120_000)
  }

  /// Waits until everything is delivered, as long as two minutes do not pass without a delivery.
  private func flush(_ producer: Producer) throws(KafkaError) {
    while true {
      let before = producer.queuedCount
      do throws(KafkaError) {
        return try producer.flush(timeoutMilliseconds: 120_000)
      } catch {
        guard error.isRetriable, producer.queuedCount < before else { throw error }
      }
    }
  }

  private func produce(
    _ key: borrowing OwnedBytes,
    _ value: borrowing OwnedBytes,
    to partition: Int32,
    _ producer: Producer
  ) throws(KafkaError) {
    while true {
      do throws(KafkaError) {
        return try producer.produce(
          topic: names.items,
          partition: partition,
          key: key.bytes,
          value: value.bytes
        )
      } catch {
        guard error.kind == .queueFull else { throw error }
        try producer.poll(timeoutMilliseconds: 100)
      }
    }
  }
}

extension TestTopics {
  private static let askMilliseconds: Int32 = 30_000

  /// Waits until the group has committed all input.
  ///
  /// - Parameters:
  ///   - ends: the offsets to be committed.
  ///   - check: throws if waiting is useless.
  /// - Returns: the committed offsets of partitions with records to read.
  /// - Throws: ``BrokerFailure`` after ten minutes.
  @discardableResult
  func waitForCommits(
    _ ends: [TopicPartition: Int64],
    check: () throws -> Void
  ) throws -> [TopicPartition: CommittedOffset] {
    var configuration = client
    configuration["group.id"] = prefix
    let consumer = try Consumer(
      configuration: configuration,
      isolationLevel: .readCommitted,
      log: { _, _, _ in }
    )
    defer { try? consumer.close(timeoutMilliseconds: Self.askMilliseconds) }
    let batch = consumer.makeBatch(capacity: 1)
    let deadline = ContinuousClock.now + .seconds(600)
    var left = ends.filter { $0.value > 0 }
    var result: [TopicPartition: CommittedOffset] = [:]
    while !left.isEmpty {
      try BrokerFailure.check(ContinuousClock.now < deadline, "the group has not committed \(left)")
      try check()
      do throws(KafkaError) {
        let committed = try consumer.committed(Array(left.keys), timeoutMilliseconds: Self.askMilliseconds)
        result.merge(committed) { $1 }
        left = left.filter { committed[$0.key]?.offset ?? 0 < $0.value }
      } catch {
        // Offsets of an open transaction are not available.
        if !error.isRetriable { throw error }
      }
      try consumer.poll(into: batch, timeoutMilliseconds: 100)
    }
    return result
  }
}

/// Reads topics from their beginning. It belongs to one thread.
final class TopicReader {
  private let consumer: Consumer
  private let batch: MessageBatch
  /// The next offset of each partition.
  private(set) var positions: [TopicPartition: Int64] = [:]
  private var isAssigned = false

  private static let closeMilliseconds: Int32 = 120_000
  private static let askMilliseconds: Int32 = 120_000

  init(
    _ topics: TestTopics,
    _ names: [String],
    isolation: IsolationLevel = .readCommitted
  ) throws(KafkaError) {
    consumer = try Consumer(configuration: topics.client, isolationLevel: isolation, log: { _, _, _ in })
    batch = consumer.makeBatch(capacity: 1_000)
    for partition in topics.all(names) { positions[partition] = 0 }
  }

  /// Reads available records, and waits if there are none.
  func poll(timeoutMilliseconds: Int32, _ take: (TopicRecord) -> Void) throws(KafkaError) {
    if !isAssigned {
      isAssigned = true
      try consumer.assign(
        positions.keys.map { TopicPartitionOffset($0, offset: TopicPartitionOffset.beginning) }
      )
    }
    try consumer.poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
    for index in 0..<batch.count {
      let message = batch[index]
      let record = TopicRecord(message, topic: consumer.topicName(at: message.topicIndex))
      take(record)
      positions[TopicPartition(topic: record.topic, partition: record.partition)] = record.offset + 1
    }
    for event in batch.events {
      switch event {
      case .endOfPartition(let topic, let partition, let offset):
        // The same poll may have returned later records.
        let partition = TopicPartition(topic: consumer.topicName(at: topic), partition: partition)
        positions[partition] = max(positions[partition] ?? 0, offset)
      case .error(let error):
        if !error.isRetriable { throw error }
      }
    }
  }

  /// The current ends of the partitions: the last stable offset for a reader of committed records, otherwise the high
  /// watermark.
  func ends() throws(KafkaError) -> [TopicPartition: Int64] {
    var ends: [TopicPartition: Int64] = [:]
    for partition in positions.keys {
      ends[partition] = try Self.end(of: partition, consumer)
    }
    return ends
  }

  /// Whether everything before these offsets has been read.
  func hasReached(_ ends: [TopicPartition: Int64]) -> Bool {
    ends.allSatisfy { (positions[$0.key] ?? 0) >= $0.value }
  }

  /// All records at the start, and the ends: for each partition the offset after its last record, and the offset after
  /// the transaction markers that follow it; 0 for an empty partition. Waits for the ends of open transactions, since a
  /// killed member's would hide the committed records after it.
  static func contents(
    _ topics: TestTopics,
    _ names: [String],
    isolation: IsolationLevel = .readCommitted
  ) throws -> (records: [TopicRecord], ends: [TopicPartition: Int64]) {
    let reader = try TopicReader(topics, names, isolation: isolation)
    defer { reader.close() }
    let uncommitted = try TopicReader(topics, names, isolation: .readUncommitted)
    defer { uncommitted.close() }
    let ends = try uncommitted.ends()
    var records: [TopicRecord] = []
    let deadline = ContinuousClock.now + .seconds(600)
    while !reader.hasReached(ends) {
      try BrokerFailure.check(ContinuousClock.now < deadline, "\(names) could not be read to their ends")
      try reader.poll(timeoutMilliseconds: 100) { records.append($0) }
    }
    return (records, reader.positions)
  }

  func close() { try? consumer.close(timeoutMilliseconds: Self.closeMilliseconds) }

  private static func end(of partition: TopicPartition, _ consumer: Consumer) throws(KafkaError) -> Int64 {
    while true {
      do throws(KafkaError) {
        return try consumer.queryWatermarks(partition, timeoutMilliseconds: askMilliseconds).high
      } catch {
        if !error.isRetriable { throw error }
      }
    }
  }
}
