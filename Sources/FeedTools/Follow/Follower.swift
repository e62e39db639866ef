import Feed
package import FeedKafka
package import FeedStore
package import Kafka

/// Reads the changesets topic from its beginning and keeps a replica of every feed, as a service would. Also reads the
/// rejected topic. It belongs to one thread.
package final class Follower {
  private let topics: TopicNames
  private let consumer: Consumer
  private let batch: MessageBatch
  private let planIndexer = JSONIndexer()
  private var partitions: [Int32: ReplicaPartition] = [:]
  /// The next offset to read of each partition.
  private var positions: [TopicPartition: Int64] = [:]

  private static let timeoutMilliseconds: Int32 = 10_000

  /// - Throws: errors of the brokers; the topics must exist.
  package init(
    _ settings: KafkaSettings,
    topics: TopicNames,
    log: @escaping KafkaLogHandler
  ) throws(KafkaError) {
    self.topics = topics
    consumer = try Consumer(configuration: settings.reader, isolationLevel: .readCommitted, log: log)
    batch = consumer.makeBatch(capacity: 1_000)
    let names = [topics.changesets, topics.rejected]
    let metadata = try consumer.metadata(names, timeoutMilliseconds: Self.timeoutMilliseconds)
    for name in names {
      for partition in 0..<(metadata.partitionCounts[name] ?? 0) {
        positions[TopicPartition(topic: name, partition: partition)] = 0
      }
    }
    try consumer.assign(
      positions.keys.map { TopicPartitionOffset($0, offset: TopicPartitionOffset.beginning) }
    )
  }

  /// Reads available records, waits if there are none, and reports each record.
  package func poll(timeoutMilliseconds: Int32, _ tell: (FollowedRecord) -> Void) throws(KafkaError) {
    try consumer.poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
    for index in 0..<batch.count {
      let message = batch[index]
      let topic = consumer.topicName(at: message.topicIndex)
      tell(topic == topics.changesets ? follow(message) : Self.rejected(message))
      positions[TopicPartition(topic: topic, partition: message.partition)] = message.offset + 1
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

  private func follow(_ message: Message) -> FollowedRecord {
    let partition = message.partition
    let replicas = partitions[partition] ?? ReplicaPartition()
    partitions[partition] = replicas
    do {
      let key = message.key.map { ByteSpan($0) } ?? .empty
      return .changeset(
        partition: partition,
        try replicas.apply(key: key, value: message.payload.map { ByteSpan($0) }),
        message.header(ChangesetPlan.header).flatMap { ChangesetPlan(ByteSpan($0), indexer: planIndexer) }
      )
    } catch {
      return .unreadable(partition: partition, offset: message.offset, error)
    }
  }

  private static func rejected(_ message: Message) -> FollowedRecord {
    var headers: [String: String] = [:]
    for header in message.headers() {
      headers[header.name] = String(decoding: header.value ?? [], as: UTF8.self)
    }
    return .rejected(key: message.key.map { String(decoding: $0, as: UTF8.self) } ?? "", headers: headers)
  }

  /// The current ends of the topics.
  package func ends() throws(KafkaError) -> [TopicPartition: Int64] {
    var ends: [TopicPartition: Int64] = [:]
    for partition in positions.keys {
      ends[partition] = try consumer.queryWatermarks(
        partition,
        timeoutMilliseconds: Self.timeoutMilliseconds
      ).high
    }
    return ends
  }

  /// Whether everything before these offsets has been read.
  package func hasReached(_ ends: [TopicPartition: Int64]) -> Bool {
    ends.allSatisfy { (positions[$0.key] ?? 0) >= $0.value }
  }

  /// The current replicas, by partition and feed.
  package var summaries: [ReplicaSummary] {
    partitions.flatMap { partition, replicas in
      replicas.replicas.map { ReplicaSummary(partition: partition, $0) }
    }.sorted { ($0.partition, $0.feed) < ($1.partition, $1.feed) }
  }

  package func close() throws(KafkaError) {
    try consumer.close(timeoutMilliseconds: Self.timeoutMilliseconds)
  }
}
