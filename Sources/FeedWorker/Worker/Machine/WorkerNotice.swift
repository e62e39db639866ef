import Kafka

/// What a worker reports because of a decision of its machine.
enum WorkerNotice: Equatable {
  /// The end was asked for.
  case stopping
  /// The producer cannot be registered yet.
  case waitingForCoordinator(KafkaError)
  /// The producer cannot be registered.
  case producerRefused(KafkaError)
  /// Partitions are revoked.
  case revoking
  /// Partitions are lost.
  case lost
}
