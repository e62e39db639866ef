import Kafka

/// Why a client stopped following.
public struct FeedClientError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What went wrong, as a stable word.
  public enum Code: String, Sendable {
    /// The changesets topic does not exist.
    case missingTopic = "missing-topic"
    /// The topic has no partition of a number that is to be followed.
    case unknownPartition = "unknown-partition"
    /// Kafka refused; the message has its reason. Errors that pass by themselves are not told here.
    case kafka
    /// What was saved cannot be read, or not be written.
    case savedState = "saved-state"
  }

  /// What went wrong; stable.
  public let code: Code
  /// Names the topic and the partition, and what to do.
  public let message: String

  /// Code and message.
  public var description: String { "\(code.rawValue): \(message)" }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: KafkaError) { self.init(.kafka, error.description) }
}
