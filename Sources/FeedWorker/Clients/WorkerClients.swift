import FeedKafka
import Kafka
import Service

/// Makes the clients of a worker, and tells the time: everything through which a worker notices the world.
protocol WorkerClients: Sendable {
  func makeConsumer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any GroupConsumer
  func makeProducer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any TransactionClient
  /// What restores feeds reads with.
  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> any RestoreSource
  /// What asks for what a member of the group cannot ask for.
  func makeWitness(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupWitness
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
    // Where to begin, the restoration finds out.
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
  ) throws(KafkaError) -> any RestoreSource {
    let handler = log.kafkaHandler
    return RestoreReader(
      topic: topic,
      reader: try Consumer(configuration: settings.restorer, isolationLevel: .readCommitted, log: handler),
      measurer: try Consumer(configuration: settings.reader, isolationLevel: .readUncommitted, log: handler)
    )
  }

  func makeWitness(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupWitness {
    try Consumer(
      configuration: settings.witness,
      isolationLevel: .readUncommitted,
      log: log.kafkaHandler
    )
  }

  func milliseconds() -> Int64 { MonotonicClock.milliseconds() }
}

/// What a worker asks of its group that it cannot ask as a member.
protocol GroupWitness: AnyObject {
  /// The offsets that are committed, whatever transactions that are open say of them.
  func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset]
  /// The ids of the members that the group has.
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String>
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

extension Consumer: GroupWitness {
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String> {
    Set(try groupMembers(timeoutMilliseconds: timeoutMilliseconds).map(\.memberID))
  }
}
