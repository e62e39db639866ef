import Kafka

/// An error of a flush's transaction, with how far it had come.
struct FlushFailure: Error {
  let stage: FlushRecovery.Stage
  let error: KafkaError
}
