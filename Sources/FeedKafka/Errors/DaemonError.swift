package import Kafka

/// Why the daemon, or a tool that talks to Kafka, stopped.
public struct DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What went wrong, as a stable word.
  public enum Code: String, Sendable {
    /// A topic does not exist.
    case missingTopic = "missing-topic"
    /// Topics that belong together differ in their number of partitions.
    case partitionCounts = "partition-counts"
    /// Kafka refused, or could not be reached; the message has its reason.
    case kafka = "kafka"
    /// Records could not be delivered.
    case undelivered = "undelivered"
    /// Input is gone that was not read.
    case lostInput = "lost-input"
    /// Feeds cannot be restored from the changesets topic.
    case unreadableChangesets = "unreadable-changesets"
    /// HTTP cannot be served.
    case http
    /// What was read back is not what was published.
    case mismatch = "mismatch"
    /// There is no record at a place that was named.
    case missingRecord = "missing-record"
  }

  public let code: Code
  /// Names what it concerns, and the remedy.
  public let message: String
  /// Whether the same may work later without anybody's doing.
  public let isRetriable: Bool

  package init(_ code: Code, _ message: String, isRetriable: Bool = false) {
    self.code = code
    self.message = message
    self.isRetriable = isRetriable
  }

  package init(_ error: KafkaError) {
    self.init(.kafka, error.description, isRetriable: error.isRetriable)
  }

  /// Something that would fail again in the same way, until somebody changes something.
  ///
  /// - Parameter action: what cannot be done: `publish`, `read`.
  package static func cannot(_ action: String, _ error: KafkaError) -> DaemonError {
    DaemonError(
      .kafka,
      "cannot \(action): \(error); nothing is lost; restart feedstore when the cause is fixed"
    )
  }

  /// A partition of the changesets topic that ends before what belongs to the committed offsets.
  package static func cutChangesets(_ partition: TopicPartition, end: Int64, least: Int64) -> DaemonError {
    DaemonError(
      .unreadableChangesets,
      """
      feeds cannot be restored from \(partition): it ends at offset \(end), and the group has committed its offsets with \
      changesets up to \(least): the topic was truncated or made anew. Name a new kafka.group.id (and, if something \
      is left in the topic, a new topics.changesets), so that all feeds are made anew from the input
      """
    )
  }

  /// A topic that is being read, and of which nothing comes.
  package static func silence(of topic: String, milliseconds: Int64) -> DaemonError {
    DaemonError(
      .kafka,
      "received nothing more from topic \(topic) within \(milliseconds) ms; "
        + "check that its brokers can be reached, and try again",
      isRetriable: true
    )
  }

  /// The daemon cannot go on.
  public var isFatal: Bool { true }
  public var description: String { message }
}
