import Kafka
import ObservationSupport

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
  /// the transaction markers that follow it; 0 for an empty partition.
  static func contents(
    _ topics: TestTopics,
    _ names: [String],
    isolation: IsolationLevel = .readCommitted
  ) throws -> (records: [TopicRecord], ends: [TopicPartition: Int64]) {
    let reader = try TopicReader(topics, names, isolation: isolation)
    defer { reader.close() }
    let ends = try reader.ends()
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
