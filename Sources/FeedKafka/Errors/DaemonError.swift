package import Kafka
import Settings

/// Why the daemon, or a tool that uses Kafka, stopped.
package struct DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; stable.
  package enum Code: String, Sendable {
    /// A topic does not exist.
    case missingTopic = "missing-topic"
    /// Topics that must have the same number of partitions differ.
    case partitionCounts = "partition-counts"
    /// Kafka refused a request or could not be reached; the message has the reason.
    case kafka = "kafka"
    /// A topic has lost input that was not read.
    case lostInput = "lost-input"
    /// Feeds cannot be restored from the changesets topic.
    case unreadableChangesets = "unreadable-changesets"
    /// HTTP cannot be served.
    case http
    /// The records that were read differ from the published ones.
    case mismatch = "mismatch"
    /// The requested offset has no record.
    case missingRecord = "missing-record"
  }

  package let code: Code
  /// The topic or partition, and the remedy.
  package let message: String
  /// Whether a retry may succeed without intervention.
  package let isRetriable: Bool

  package init(_ code: Code, _ message: String, isRetriable: Bool = false) {
    self.code = code
    self.message = message
    self.isRetriable = isRetriable
  }

  package init(_ error: KafkaError) { self.init(.kafka, error.description, isRetriable: error.isRetriable) }

  /// An error that persists until an operator intervenes.
  ///
  /// - Parameter action: the failed action: `publish`, `read`.
  package static func cannot(_ action: String, _ error: KafkaError) -> DaemonError {
    DaemonError(
      .kafka,
      "cannot \(action): \(error); nothing is lost; restart feedstore when the cause is fixed"
    )
  }

  /// Topics do not exist, or may not be described.
  package static func missing(_ topics: [String]) -> DaemonError {
    let (names, isOne) = (topics.joined(separator: ", "), topics.count == 1)
    return DaemonError(
      .missingTopic,
      """
      \(isOne ? "topic \(names) does" : "topics \(names) do") not exist, or may not be read; \
      create \(isOne ? "it" : "them") (feedstore topics --create), or set topics.* to other names
      """
    )
  }

  /// The changesets topic ends before an offset that the committed offsets require.
  package static func cutChangesets(_ partition: TopicPartition, end: Int64, least: Int64) -> DaemonError {
    DaemonError(
      .unreadableChangesets,
      """
      feeds cannot be restored from \(partition): it ends at offset \(end), and the group has committed its offsets with \
      changesets up to \(least). The topic was recreated or has lost its end, or a late request has committed offsets without \
      their changesets (KAFKA-17754). Stop feedstore, reset the group's offsets of partition \(partition.partition) of the inputs to \
      a time before (kafka-consumer-groups --reset-offsets --to-datetime, or --to-earliest), and start it again: feeds skip the \
      records that they have applied. If the input does not reach back so far, send the feeds of the partition again
      """
    )
  }

  /// Reading a topic has stalled.
  package static func silence(of topic: String, milliseconds: Int64) -> DaemonError {
    DaemonError(
      .kafka,
      "received nothing more from topic \(topic) within \(milliseconds) ms; "
        + "check that its brokers can be reached, and try again",
      isRetriable: true
    )
  }

  package var description: String { message }
}

extension KafkaError {
  /// A configuration error if a property is wrong, otherwise a Kafka error.
  package var configurationOrDaemonError: any Error {
    guard kind == .invalidArgument else { return DaemonError(self) }
    let hint =
      message.contains("libcurl")
      ? "use a librdkafka with libcurl, or kafka.oauth.command instead"
      : "correct or remove it under kafka; librdkafka's CONFIGURATION.md has all of them"
    return ConfigurationError("\(message); \(hint)")
  }
}
