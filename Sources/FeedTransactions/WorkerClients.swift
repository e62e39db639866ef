package import Changesets
package import Diagnostics
package import FeedKafka
package import FeedStore
package import Kafka
import OperatingSystem

/// The clients of a worker, and its clock.
package protocol WorkerClients: Sendable {
  func makeConsumer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any GroupConsumer
  /// - Parameter reportsEnds: whether ``TransactionClient/deliveredEnd(of:)`` is needed.
  func makeProducer(
    _ configuration: KafkaConfiguration,
    reportsEnds: Bool,
    log: Log
  ) throws(KafkaError) -> any TransactionClient
  /// Creates the reader of the changesets topic, to restore feeds.
  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> RestoreReader
  /// Creates a client that reads committed records, without a group.
  func makeReader(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any RecordConsumer
  /// Creates a client for requests that a member of the group cannot make.
  func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe
  /// Milliseconds of a clock that never goes back.
  func milliseconds() -> Int64
}

/// The clients of the daemon: librdkafka's, and the machine's clock.
package struct KafkaClients: WorkerClients {
  package func makeConsumer(
    _ configuration: KafkaConfiguration,
    log: Log
  ) throws(KafkaError) -> any GroupConsumer {
    let consumer = try Consumer(
      configuration: configuration,
      isolationLevel: .readCommitted,
      log: log.kafkaHandler
    )
    // The restoration determines where reading begins.
    consumer.assignmentStart = Consumer.startWithoutQuery
    return consumer
  }

  package func makeProducer(
    _ configuration: KafkaConfiguration,
    reportsEnds: Bool,
    log: Log
  ) throws(KafkaError) -> any TransactionClient {
    try TransactionalProducer(configuration: configuration, reportsEnds: reportsEnds, log: log.kafkaHandler)
  }

  package func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> RestoreReader {
    RestoreReader(
      topic: topic,
      reader: try makeReader(settings, log: log),
      measurer: try Consumer(
        configuration: settings.reader,
        isolationLevel: .readUncommitted,
        log: log.kafkaHandler
      )
    )
  }

  package func makeReader(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any RecordConsumer {
    try Consumer(configuration: settings.restorer, isolationLevel: .readCommitted, log: log.kafkaHandler)
  }

  package func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe {
    try Consumer(
      configuration: settings.probe,
      isolationLevel: .readUncommitted,
      log: log.kafkaHandler
    )
  }

  package func milliseconds() -> Int64 { MonotonicClock.milliseconds() }
}

/// Requests about a worker's group that a member cannot make.
package protocol GroupProbe: AnyObject {
  /// The committed offsets, even if open transactions have others.
  func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset]
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String>
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

extension Consumer: GroupProbe {
  package func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String> {
    Set(try describeGroup(groupID ?? "", timeoutMilliseconds: timeoutMilliseconds).map(\.memberID))
  }
}

/// A worker's consumer: a member of the group that reads input.
///
/// The daemon's is ``Kafka/Consumer``; the simulation has another. Called once per poll or step, not per record.
package protocol GroupConsumer: RecordConsumer {
  var onStatistics: ((ClientStatistics) -> Void)? { get set }
  /// The number of fetched records that wait for a poll.
  var fetchedCount: Int { get }

  func subscribe(_ topics: [String], companions: [String]) throws(KafkaError)
  func unsubscribe() throws(KafkaError)
  func complete(_ rebalance: Rebalance) throws(KafkaError)
  func pause(_ partitions: [TopicPartition]) throws(KafkaError)
  func resume(_ partitions: [TopicPartition]) throws(KafkaError)
  func seek(_ offsets: [TopicPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError)
  func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset]
  /// The member and its generation, for ``TransactionClient/sendOffsets(_:_:timeoutMilliseconds:)``.
  func membership() throws(KafkaError) -> any GroupMembership
  func wakeFetcher(of partition: TopicPartition)
}

/// The membership that a transaction names when it commits offsets; see ``GroupConsumer/membership()``.
package protocol GroupMembership: AnyObject {
  /// The member's id; nil if unknown.
  var member: String? { get }
}

extension ConsumerGroupMetadata: GroupMembership {
  package var member: String? { memberID }
}

extension Consumer: GroupConsumer {
  package func membership() throws(KafkaError) -> any GroupMembership { try groupMetadata() }
  package func wakeFetcher(of partition: TopicPartition) { wakeFetcher(of: CollectionOfOne(partition)) }
}

/// A worker's producer.
///
/// The daemon's is ``Kafka/TransactionalProducer``; the simulation has another. Records are queued a part at a time
/// (``queue(_:by:)``), with one dynamic call per part and none per record.
package protocol TransactionClient: AnyObject, RecordProducer {
  var onStatistics: ((ClientStatistics) -> Void)? { get set }

  func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError)
  func begin() throws(KafkaError)
  /// Whether requests of the last committed transaction may reach brokers again.
  var hasLostConnection: Bool { get }
  /// Queues the rest of a part.
  func queue(_ part: borrowing Publication, by writer: inout PublicationWriter) throws(KafkaError)
  func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: any GroupMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError)
  func flush(timeoutMilliseconds: Int32) throws(KafkaError)
  /// The offset after the last record that a broker has confirmed in a partition; nil before the first.
  func deliveredEnd(of partition: TopicPartition) -> Int64?
  func commit(timeoutMilliseconds: Int32) throws(KafkaError)
  func abort(timeoutMilliseconds: Int32) throws(KafkaError)
  /// - Returns: whether there are delivery errors to handle.
  @discardableResult
  func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool
  func takeDeliveryErrors() -> DeliveryErrors
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

/// Queues the records of a transaction.
package protocol RecordProducer {
  func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList,
    timestampMilliseconds: Int64
  ) throws(KafkaError)
}

extension TransactionalProducer: TransactionClient {
  package func queue(_ part: borrowing Publication, by writer: inout PublicationWriter) throws(KafkaError) {
    try writer.write(part, to: self)
  }

  package func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: any GroupMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    guard let group = membership as? ConsumerGroupMetadata else {
      preconditionFailure("offsets of a consumer of another kind")
    }
    try sendOffsets(offsets, group, timeoutMilliseconds: timeoutMilliseconds)
  }
}
