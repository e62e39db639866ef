import FeedConfiguration
import FeedKafka
import Kafka
import Service

/// Reads what is committed in one topic, for commands that end. It belongs to one thread.
final class TopicReader {
  let topic: String
  /// The configuration's key that names the topic.
  private let key: String
  private let wait: TopicWait
  private let log: Log
  private let consumer: Consumer
  private let batch: MessageBatch
  /// How long no record may come.
  private let patienceMilliseconds: Int64
  /// When a record came last, or the reading began.
  private var lastSign: Int64 = 0

  private static let timeoutMilliseconds: Int32 = 10_000
  private static let pollMilliseconds: Int32 = 100
  private static let closeMilliseconds: Int32 = 2_000
  /// Few enough that records of many megabytes are not hoarded.
  private static let batchCapacity = 100

  /// - Parameters:
  ///   - topic: its name, and the configuration's key for that.
  ///   - patienceMilliseconds: how long no record may come before the end.
  init(
    _ settings: KafkaSettings,
    _ configuration: PipelineConfiguration,
    topic: (name: String, key: String),
    patienceMilliseconds: Int64,
    log: Log
  ) throws(KafkaError) {
    (self.topic, key) = topic
    wait = TopicWait(milliseconds: configuration.startupTimeoutMilliseconds)
    self.patienceMilliseconds = patienceMilliseconds
    self.log = log
    consumer = try Consumer(
      configuration: settings.restorer,
      isolationLevel: .readCommitted,
      log: log.kafkaHandler
    )
    batch = consumer.makeBatch(capacity: Self.batchCapacity)
  }

  func close() throws(KafkaError) {
    try consumer.close(timeoutMilliseconds: Self.closeMilliseconds)
  }

  /// How many partitions the topic has.
  ///
  /// - Throws: ``DaemonError`` if there is no such topic; `KafkaError`.
  func partitionCount() throws -> Int32 {
    let metadata = try wait.metadata([topic], log) { topics throws(KafkaError) in
      try consumer.metadata(topics, timeoutMilliseconds: Self.timeoutMilliseconds)
    } pause: { milliseconds throws(KafkaError) in
      try consumer.poll(into: batch, timeoutMilliseconds: milliseconds)
    }
    guard let count = metadata.partitionCounts[topic] else {
      throw DaemonError(
        .missingTopic,
        "topic \(topic) does not exist, or may not be read; set \(key) to its name"
      )
    }
    return count
  }

  /// Where a partition begins and ends now; what belongs to open transactions is behind its end.
  func watermarks(_ partition: Int32) throws(KafkaError) -> Watermarks {
    try consumer.queryWatermarks(
      TopicPartition(topic: topic, partition: partition),
      timeoutMilliseconds: Self.timeoutMilliseconds
    )
  }

  /// Begins to read partitions, each at an offset, and no others.
  func begin(at offsets: [Int32: Int64]) throws(KafkaError) {
    try consumer.assign(
      offsets.map { TopicPartitionOffset(topic: topic, partition: $0.key, offset: $0.value) }
    )
    lastSign = MonotonicClock.milliseconds()
    batch.recycle()
  }

  /// Polls once, and waits a moment if nothing is there.
  ///
  /// - Returns: what came; valid until the next poll.
  /// - Throws: ``DaemonError`` if no record has come for too long; `KafkaError`.
  func poll() throws -> MessageBatch {
    let now = MonotonicClock.milliseconds()
    // What the poll before brought is dealt with by now.
    if !batch.isEmpty { lastSign = now }
    guard now - lastSign < patienceMilliseconds else {
      throw DaemonError.silence(of: topic, milliseconds: patienceMilliseconds)
    }
    try consumer.poll(into: batch, timeoutMilliseconds: Self.pollMilliseconds)
    return batch
  }
}
