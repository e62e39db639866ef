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
