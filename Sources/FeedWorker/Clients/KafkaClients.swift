import FeedKafka
import Kafka
import Service

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
