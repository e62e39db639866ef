package import Diagnostics
import Feed
package import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
import OperatingSystem

/// `feedstore rejects publish`: sends rejected records to their original partitions again.
package struct RejectedPublication: Sendable {
  package var configuration: FeedStoreConfiguration
  /// The positions of the records, in the order of sending.
  package var positions: [RejectedPosition]
  /// A replacement for the value of a single record; nil sends values unchanged.
  package var value: [UInt8]?
  package var log: Log

  /// The maximum size of all records, in bytes: they are all in memory before the first one is sent.
  static let mostBytes = 268_435_456

  /// The maximum size of a replacement value, in bytes.
  package static func mostValueBytes(_ configuration: FeedStoreConfiguration) -> Int {
    configuration.store.limits.maxRecordBytes
  }

  package init(
    _ configuration: FeedStoreConfiguration,
    positions: [RejectedPosition],
    value: [UInt8]?,
    log: Log
  ) {
    self.configuration = configuration
    self.positions = positions
    self.value = value
    self.log = log
  }

  /// Reads all records and, if none is refused, sends them.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if a record or a partition does not exist, or the brokers fail.
  package func run() async throws -> RejectedPublicationReport {
    try await WorkerThread.withKafka("rejects", configuration) { settings in
      let copies = try read(settings)
      let (store, sources) = (configuration.store, configuration.ingest.sources)
      let refusals = copies.compactMap { copy in
        copy.refusal(replacing: value, topics: store.topics.inputs, sources, limits: store.limits)
          .map { "\(copy.position) is not published: \(UpdateText.printable($0))" }
      }
      guard refusals.isEmpty else { return RejectedPublicationReport(refusals: refusals) }
      return try send(copies, settings)
    }
  }

  private func read(_ settings: KafkaSettings) throws -> [RejectedCopy] {
    let reader = try TopicReader.ofRejected(settings, configuration, log: log)
    defer { try? reader.close() }
    var bytes = 0
    return try positions.map { position in
      let copy = try reader.rejectedCopy(at: position)
      bytes += (copy.key?.count ?? 0) + (copy.value?.count ?? 0)
      guard bytes <= Self.mostBytes else {
        throw DaemonError(
          .kafka,
          "the records up to \(position) have more than \(Self.mostBytes) bytes together; publish fewer at a time"
        )
      }
      return copy
    }
  }

  private func send(_ copies: [RejectedCopy], _ settings: KafkaSettings) throws -> RejectedPublicationReport {
    let producer = try Producer(configuration: settings.producer, log: log.kafkaHandler)
    defer { try? producer.close(timeoutMilliseconds: Self.closeMilliseconds) }
    try check(copies, producer)
    let limits = RecordLimits(settings, producer, log: log)
    let refusals = copies.compactMap { copy in
      // The replacement belongs to the only record.
      let bytes = (copy.key?.count ?? 0) + (value ?? copy.value ?? []).count
      return copy.source.flatMap { limits.refusal(ofBytes: bytes, to: $0.topic) }
        .map { "\(copy.position) is not published: it \($0)" }
    }
    guard refusals.isEmpty else { return RejectedPublicationReport(refusals: refusals) }
    var report = RejectedPublicationReport()
    for copy in copies {
      guard let source = copy.source else { continue }
      try enqueue(copy, source, producer)
      report.sent += 1
    }
    let giveUp = MonotonicClock.milliseconds() + Self.deliveryMilliseconds
    while producer.queuedCount > 0, MonotonicClock.milliseconds() < giveUp, !StopRequest.process.isRequested {
      try producer.poll(timeoutMilliseconds: Self.pollMilliseconds)
    }
    let errors = producer.takeDeliveryErrors()
    report.undelivered = errors.count + producer.queuedCount
    for error in errors.errors {
      log.write(.publishRecordUndelivered, "record not delivered", ["error": error])
    }
    return report
  }

  /// Checks that the partitions in the headers exist.
  private func check(_ copies: [RejectedCopy], _ producer: Producer) throws {
    let topics = Set(copies.compactMap(\.source?.topic)).sorted()
    let wait = TopicWait(milliseconds: configuration.startupTimeoutMilliseconds)
    let counts = try wait.metadata(topics, log) { topics throws(KafkaError) in
      try producer.metadata(topics, timeoutMilliseconds: Self.timeoutMilliseconds)
    } pause: { milliseconds throws(KafkaError) in
      try producer.poll(timeoutMilliseconds: milliseconds)
    }.partitionCounts
    for copy in copies {
      guard let source = copy.source else { continue }
      guard let count = counts[source.topic] else {
        throw DaemonError(
          .missingTopic,
          "topic \(source.topic), from which \(copy.position) came, does not exist, or may not be written to; create it"
        )
      }
      guard source.partition < count else {
        throw DaemonError(
          .partitionCounts,
          """
          \(copy.position) came from \(source.topic) [\(source.partition)], but the topic has \(count) partitions; \
          have its producer send it again
          """
        )
      }
    }
  }

  /// The timestamp is the time of sending, because a topic with time-based retention would drop an old record.
  private func enqueue(_ copy: RejectedCopy, _ source: RejectedSource, _ producer: Producer) throws {
    let key = OwnedBytes(copy.key)
    let value = OwnedBytes(value ?? copy.value)
    let (topic, partition) = (source.topic, source.partition)
    func produce() throws(KafkaError) {
      try producer.produce(topic: topic, partition: partition, key: key.bytes, value: value.bytes)
    }
    while try !Producer.hasRoom(produce) { try producer.poll(timeoutMilliseconds: Self.pollMilliseconds) }
  }

  private static let timeoutMilliseconds: Int32 = 10_000
  private static let pollMilliseconds: Int32 = 100
  private static let closeMilliseconds: Int32 = 5_000
  private static let deliveryMilliseconds: Int64 = 60_000
}

/// The result of `feedstore rejects publish`.
package struct RejectedPublicationReport: Sendable, Equatable {
  /// Why records were refused, each with its position and the remedy. If there are any, nothing was sent.
  package internal(set) var refusals: [String] = []
  /// Records sent, including undelivered ones.
  package internal(set) var sent = 0
  /// Records that may not have arrived.
  package internal(set) var undelivered = 0

  package var isComplete: Bool { refusals.isEmpty && undelivered == 0 }

  /// Lines for standard error, without line feeds.
  package var lines: [String] {
    guard refusals.isEmpty else { return refusals + ["nothing was published"] }
    let records = sent == 1 ? "1 record" : "\(sent) records"
    guard undelivered > 0 else { return ["published \(records)"] }
    return [
      "\(undelivered) of \(records) may not have arrived; check that the brokers can be reached, and publish them again"
    ]
  }
}
