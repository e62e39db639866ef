import ChangesetTestSupport
import Diagnostics
import Feed
import FeedStore
import FeedTestSupport
import Foundation
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Oracle
import ProcessSupport
import Settings
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedDaemon
@testable import FeedKafka
@testable import FeedStatus
@testable import FeedTools
@testable import FeedWorker

/// An embedded cluster with FeedStore's topics, for one test.
struct Ground {
  let cluster: EmbeddedCluster
  var configuration = FeedStoreConfiguration()

  static let quiet = Log(level: .error, output: DiagnosticOutput(isTerminal: false) { _ in })

  /// - Parameters:
  ///   - partitions: the number of partitions of the inputs and of the changesets topic.
  ///   - rejected: the number of partitions of the rejected topic.
  init(
    partitions: Int32 = 1,
    sections: Int32? = nil,
    rejected: Int32 = 1,
    isOneInput: Bool = false,
    brokers: Int = 1
  ) throws {
    cluster = try EmbeddedCluster(brokerCount: brokers, log: { _, _, _ in })
    if isOneInput { configuration.store.topics.sections = configuration.store.topics.items }
    let topics = configuration.store.topics
    try cluster.createTopic(topics.items, partitions: partitions)
    if !isOneInput { try cluster.createTopic(topics.sections, partitions: sections ?? partitions) }
    try cluster.createTopic(topics.changesets, partitions: partitions)
    try cluster.createTopic(topics.rejected, partitions: rejected)
    configuration.kafka = [
      ConfigurationPair(name: "bootstrap.servers", value: cluster.bootstrapServers),
      ConfigurationPair(name: "fetch.wait.max.ms", value: "20"),
      ConfigurationPair(name: "heartbeat.interval.ms", value: "200"),
      // Before it assigns revoked partitions, the embedded cluster waits for almost this long.
      ConfigurationPair(name: "session.timeout.ms", value: "6000"),
    ]
    // Windows end only where a test requests it.
    configuration.store.coalescing.windowMilliseconds = 3_600_000
    configuration.store.coalescing.idleWindowMilliseconds = 3_600_000
    configuration.store.coalescing.backlogMaxRecords = 0
    configuration.store.coalescing.backlogMaxBytes = 0
  }

  /// Ends the cluster and names unreachable brokers: no server listens on port 1. Another test's cluster may soon reuse this one's
  /// port.
  mutating func loseBrokers() {
    cluster.stop()
    configuration.kafka.removeAll { $0.name == "bootstrap.servers" }
    configuration.kafka.append(ConfigurationPair(name: "bootstrap.servers", value: "127.0.0.1:1"))
  }

  var client: KafkaConfiguration {
    ["bootstrap.servers": cluster.bootstrapServers, "message.max.bytes": "10000000"]
  }

  func daemon(
    stop: StopRequest,
    log: Log = quiet,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void
  ) -> Daemon {
    Daemon(configuration, stop: stop, log: log, onEvent: onEvent)
  }

  /// A log that passes its lines to the test.
  static func log(_ level: LogLevel = .info, _ onLine: @escaping @Sendable (String) -> Void) -> Log {
    Log(level: level, output: DiagnosticOutput(isTerminal: false, write: onLine))
  }

  /// Runs a daemon until it has applied a number of records, and stops it.
  func runDaemon(
    applying records: Int,
    log: Log = quiet,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void = { _ in }
  ) async throws -> DaemonReport {
    let stop = StopRequest()
    let received = Mutex(0)
    return try await daemon(stop: stop, log: log) { event in
      onEvent(event)
      guard case .received(let count) = event else { return }
      let total = received.withLock { sum in
        sum += count
        return sum
      }
      if total >= records { stop.request() }
    }.run()
  }

  func publish(_ lines: [String]) async throws -> PublishReport {
    let file = try DemoFile(lines.joined(separator: "\n"))
    defer { withExtendedLifetime(file) {} }
    return try await publish(file: file.path)
  }

  /// Replays lines, and sends the output.
  func publishReplay(of lines: [String]) async throws -> PublishReport {
    let input = try DemoFile(lines.joined(separator: "\n"))
    let output = try DemoFile("")
    defer { withExtendedLifetime((input, output)) {} }
    let options = configuration.store
    let replay = Replay(inputs: [input.path], output: output.path, rejected: nil, options: options)
    _ = try await replay.run()
    return try await publish(file: output.path)
  }

  /// Sends a replay file, as `feedstore publish` does.
  func publish(file: String) async throws -> PublishReport {
    try await Self.publish(file: file, configuration)
  }

  static func publish(file: String, _ configuration: FeedStoreConfiguration) async throws -> PublishReport {
    var publisher = FilePublisher(
      configuration,
      inputs: [file],
      speed: nil,
      stop: StopRequest(),
      log: quiet
    )
    publisher.showsProgress = false
    return try await publisher.run()
  }

  /// Appends records in order, without changes.
  func produce(_ records: [TopicRecord], to topic: String) throws {
    try Self.produce(records, to: topic, client)
  }

  static func produce(_ records: [TopicRecord], to topic: String, _ client: KafkaConfiguration) throws {
    let producer = try Producer(configuration: client, log: { _, _, _ in })
    for record in records {
      let key = OwnedBytes(record.key)
      let value = OwnedBytes(record.value)
      var headers = HeaderList()
      for (name, text) in record.headers.sorted(by: { $0.key < $1.key }) {
        headers.append(Header(name: name, value: Array(text.utf8)))
      }
      try producer.produce(
        topic: topic,
        partition: record.partition,
        key: key.bytes,
        value: value.bytes,
        headers: headers,
        timestampMilliseconds: record.timestamp
      )
    }
    try producer.flush(timeoutMilliseconds: 120_000)
    #expect(producer.takeDeliveryErrors().isEmpty)
    try producer.close(timeoutMilliseconds: 120_000)
  }

  /// All records of a topic, by partition and offset.
  func contents(of topic: String, partitions: Int32) throws -> [TopicRecord] {
    try Self.contents(of: topic, partitions: partitions, client)
  }

  static func contents(
    of topic: String,
    partitions: Int32,
    _ client: KafkaConfiguration
  ) throws -> [TopicRecord] {
    let consumer = try Consumer(configuration: client, log: { _, _, _ in })
    try consumer.assign(
      (0..<partitions).map { TopicPartitionOffset(topic: topic, partition: $0, offset: 0) }
    )
    let batch = consumer.makeBatch(capacity: 1_000)
    var records: [TopicRecord] = []
    var ended: Set<Int32> = []
    let giveUp = ContinuousClock.now + .seconds(300)
    while ended.count < partitions {
      try #require(ContinuousClock.now < giveUp, "the topic's partitions end")
      try consumer.poll(into: batch, timeoutMilliseconds: 100)
      for index in 0..<batch.count { records.append(TopicRecord(batch[index])) }
      for case .endOfPartition(_, let partition, _) in batch.events { ended.insert(partition) }
    }
    try consumer.close(timeoutMilliseconds: 120_000)
    return records.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
  }
}

/// Waits for a condition that nothing announces. The limit of five minutes only ends a broken test.
func until(
  _ what: Comment,
  location: SourceLocation = #_sourceLocation,
  isMet: () async throws -> Bool
) async throws {
  _ = try await until(what, location: location) { try await isMet() ? true : nil }
}

/// Waits in the same way for a value, and returns it.
func until<Value>(
  _ what: Comment,
  location: SourceLocation = #_sourceLocation,
  find: () async throws -> Value?
) async throws -> Value {
  let giveUp = ContinuousClock.now + .seconds(300)
  while true {
    if let value = try await find() { return value }
    try #require(ContinuousClock.now < giveUp, what, sourceLocation: location)
    // The pause between two looks, which leaves the processor to the daemon.
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// A running instance of the built command, killed when this object is released.
final class RunningCommand {
  private let process: ChildProcess
  private let error = Pipe()
  private var unread = Data()

  /// - Parameters:
  ///   - folder: the working directory.
  ///   - environment: variables added to this process's.
  init(_ arguments: [String], in folder: URL, environment: [String: String] = [:]) throws {
    process = try ChildProcess(
      BuiltCommand.url.path,
      arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { _, given in given },
      in: folder.path,
      error: .pipe(error)
    )
  }

  deinit {
    process.signal(SIGKILL)
    process.waitForEnd()
  }

  func signal(_ number: Int32) { process.signal(number) }

  /// Reads its log up to the next line with a text.
  func line(with text: String) throws -> String {
    while let line = try nextLine() {
      if line.contains(text) { return line }
    }
    throw Ended(description: "it ended before it wrote a line with: \(text)")
  }

  /// Waits for the process to end.
  func exitCode() throws -> Int32 {
    while try nextLine() != nil {}
    return process.waitForEnd().status
  }

  struct Ended: Error, CustomStringConvertible { let description: String }

  private func nextLine() throws -> String? {
    while true {
      if let end = unread.firstIndex(of: 0x0A) {
        defer { unread = Data(unread[(end + 1)...]) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      guard let more = try error.fileHandleForReading.read(upToCount: 1), !more.isEmpty else { return nil }
      unread += more
    }
  }
}

extension TopicRecord {
  init(partition: Int32 = 0, timestamp: Int64 = 0, _ key: String?, _ value: String?) {
    self.init(
      partition: partition,
      timestamp: timestamp,
      key: key.map { Array($0.utf8) },
      value: value.map { Array($0.utf8) }
    )
  }

  init(_ record: JudgedRecord) {
    self.init(
      partition: Int32(record.partition),
      timestamp: Int64(record.timestamp),
      key: record.key,
      value: record.value,
      headers: record.headers.map { Header(name: $0.name, value: $0.value) }
    )
  }

  var keyText: String? { key.map { String(decoding: $0, as: UTF8.self) } }
  var valueText: String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

extension String {
  /// Without the times in epochs: a daemon takes them from its clock, and a replay from the records.
  var withoutEpochTimes: String { replacing(/(feeds\.[a-z]+):-?[0-9]+\//) { "\($0.1)/" } }
}

/// The output of a replay, as records.
struct ReplayedOutput {
  private(set) var changesets: [TopicRecord] = []
  private(set) var rejected: [TopicRecord] = []
  private(set) var feeds: [FeedSummary] = []

  init(_ lines: [String], _ options: FeedStoreOptions) async throws {
    let file = try DemoFile(lines.joined(separator: "\n"))
    let reader = ReplayReader(paths: [file.path])
    let store = FeedStore(options: options)
    while true {
      // Windows never end by time here, so the records' own times can be used.
      let outcome = try await store.apply(reader, time: .records)
      if await store.isPublicationDue { await take(store, options) }
      if outcome == .exhausted { break }
    }
    feeds = await store.summaries()
    withExtendedLifetime(file) {}
  }

  private mutating func take(_ store: FeedStore, _ options: FeedStoreOptions) async {
    let flush = await store.published(source: options.output.source)
    changesets += flush.records.map { TopicRecord($0) }
    for record in flush.rejected {
      var copy = TopicRecord(
        partition: record.partition,
        timestamp: record.timestamp,
        key: record.key,
        value: record.value
      )
      RejectedHeaders.forEach(record) { name, value in copy.headers[name.description] = value.text }
      rejected.append(copy)
    }
  }
}
