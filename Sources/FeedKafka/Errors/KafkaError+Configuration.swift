import Kafka
import Service

extension KafkaError {
  /// Whether a client could not be created because of an unknown or invalid property.
  private var isProperty: Bool { kind == .invalidArgument }

  /// A configuration error if a property is wrong, otherwise a Kafka error.
  package var configurationOrDaemonError: any Error {
    guard isProperty else { return DaemonError(self) }
    let hint = "correct or remove it under kafka; librdkafka's CONFIGURATION.md has all of them"
    return ConfigurationError(.outOfRange, "\(message); \(hint)")
  }
}
