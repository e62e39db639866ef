import FeedConfiguration
import FeedKafka
import Kafka
import Service

/// Reads the committed records of one topic, for commands that end. It belongs to one thread.
final class TopicReader {
  let topic: String
  /// The configuration key with the topic's name.
  private let key: String
  private let wait: TopicWait
  private let log: Log
  private let consumer: Consumer
  private let batch: MessageBatch
  /// The maximum time without a record.
  private let patienceMilliseconds: Int64
  /// The time of the last record, or of the start.
  private var lastSign: Int64 = 0

  private static let timeoutMilliseconds: Int32 = 10_000
  private static let pollMilliseconds: Int32 = 100
  private static let closeMilliseconds: Int32 = 2_000
  /// Small, so that records of many megabytes do not accumulate.
  private static let batchCapacity = 100

  /// - Parameters:
  ///   - topic: the topic's name, and its configuration key.
  ///   - patienceMilliseconds: the maximum time without a record before the end.
  init(
    _ settings: KafkaSettings,
    _ configuration: FeedStoreConfiguration,
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

  /// The topic's number of partitions.
  ///
  /// - Throws: ``DaemonError`` if the topic does not exist; `KafkaError`.
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

  /// The current first and end offset of a partition. Records of open transactions are after the end.
  func watermarks(_ partition: Int32) throws(KafkaError) -> Watermarks {
    try consumer.queryWatermarks(
      TopicPartition(topic: topic, partition: partition),
      timeoutMilliseconds: Self.timeoutMilliseconds
    )
  }

  /// Starts reading these partitions at these offsets, and no others.
  func begin(at offsets: [Int32: Int64]) throws(KafkaError) {
    try consumer.assign(
      offsets.map { TopicPartitionOffset(topic: topic, partition: $0.key, offset: $0.value) }
    )
    lastSign = MonotonicClock.milliseconds()
    batch.recycle()
  }

  /// Polls once, and waits briefly if nothing is available.
  ///
  /// - Returns: the batch; valid until the next poll.
  /// - Throws: ``DaemonError`` if no record has arrived for too long; `KafkaError`.
  func poll() throws -> MessageBatch {
    let now = MonotonicClock.milliseconds()
    // The previous batch has been processed by now.
    if !batch.isEmpty { lastSign = now }
    guard now - lastSign < patienceMilliseconds else {
      throw DaemonError.silence(of: topic, milliseconds: patienceMilliseconds)
    }
    try consumer.poll(into: batch, timeoutMilliseconds: Self.pollMilliseconds)
    return batch
  }
}
