import Kafka

/// Why a client stopped.
public struct FeedClientError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; stable.
  public enum Code: String, Sendable {
    /// The changesets topic does not exist.
    case missingTopic = "missing-topic"
    /// The topic lacks a requested partition.
    case unknownPartition = "unknown-partition"
    /// Kafka refused a request; the message has the reason. Transient errors are not reported here.
    case kafka
  }

  /// The kind of error; stable.
  public let code: Code
  /// Names the topic, the partition, and the remedy.
  public let message: String

  /// Code and message.
  public var description: String { "\(code.rawValue): \(message)" }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: KafkaError) { self.init(.kafka, error.description) }
}
