import Kafka
import Service

extension KafkaError {
  /// Whether a client could not be made for a property that it does not know or take.
  private var isProperty: Bool { kind == .invalidArgument }

  /// As an error of the configuration where a property is wrong, and of Kafka otherwise.
  package var configurationOrDaemonError: any Error {
    guard isProperty else { return DaemonError(self) }
    let hint = "correct or remove it under kafka; librdkafka's CONFIGURATION.md has all of them"
    return ConfigurationError(.outOfRange, "\(message); \(hint)")
  }
}
