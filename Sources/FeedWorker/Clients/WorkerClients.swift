import FeedKafka
import Kafka
import Service

/// The clients of a worker, and its clock.
protocol WorkerClients: Sendable {
  func makeConsumer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any GroupConsumer
  func makeProducer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any TransactionClient
  /// Reads the changesets topic to restore feeds.
  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> RestoreReader
  /// Requests what a member of the group cannot request itself.
  func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe
  /// Milliseconds of a clock that never goes back.
  func milliseconds() -> Int64
}

/// The clients of the daemon: librdkafka's, and the machine's clock.
struct KafkaClients: WorkerClients {
  func makeConsumer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any GroupConsumer {
    let consumer = try Consumer(
      configuration: configuration,
      isolationLevel: .readCommitted,
      log: log.kafkaHandler
    )
    // The restoration determines where reading begins.
    consumer.assignmentStart = Consumer.startWithoutQuery
    return consumer
  }

  func makeProducer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any TransactionClient
  {
    try TransactionalProducer(configuration: configuration, log: log.kafkaHandler)
  }

  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> RestoreReader {
    let handler = log.kafkaHandler
    return RestoreReader(
      topic: topic,
      reader: try Consumer(configuration: settings.restorer, isolationLevel: .readCommitted, log: handler),
      measurer: try Consumer(configuration: settings.reader, isolationLevel: .readUncommitted, log: handler)
    )
  }

  func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe {
    try Consumer(
      configuration: settings.probe,
      isolationLevel: .readUncommitted,
      log: log.kafkaHandler
    )
  }

  func milliseconds() -> Int64 { MonotonicClock.milliseconds() }
}

/// Requests about a worker's group that a member cannot make.
protocol GroupProbe: AnyObject {
  /// The committed offsets, even if open transactions have others.
  func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset]
  /// The ids of the members that the group has.
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String>
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

extension Consumer: GroupProbe {
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String> {
    Set(try groupMembers(timeoutMilliseconds: timeoutMilliseconds).map(\.memberID))
  }
}
