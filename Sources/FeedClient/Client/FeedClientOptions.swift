public import Kafka

/// What a client follows, and how it reads.
public struct FeedClientOptions: Sendable {
  /// Properties of librdkafka, such as `bootstrap.servers`. Isolation, offsets and the reports of partitions'
  /// ends are the client's own.
  public var kafka: KafkaConfiguration
  /// The changesets topic.
  public var topic: String
  /// The partitions to begin with; nil for all that the topic has.
  public var partitions: Set<Int32>?
  /// The ids of the feeds to follow; nil for all. Ids are compared by their bytes. Records of other feeds are passed
  /// over before they are decoded, nothing is kept of them, and subscribers are told `absent` of them.
  public var feeds: [String]?
  /// The saved state to begin with; nil to read the topic from its beginning.
  public var savedState: SavedStateOptions?
  /// How long to wait for a topic that the brokers do not tell of yet, such as one that was just created; each few seconds
  /// the log says so. Brokers that cannot be reached are waited for without an end.
  public var topicTimeout: Duration
  /// How many records are taken over from librdkafka at once. What it has fetched ahead of that is bounded by
  /// `queued.max.messages.kbytes`.
  public var batchCapacity: Int

  /// Makes options; by default for following all feeds of a topic from its beginning.
  public init(
    kafka: KafkaConfiguration,
    topic: String = "feeds.changesets",
    partitions: Set<Int32>? = nil,
    feeds: [String]? = nil,
    savedState: SavedStateOptions? = nil,
    topicTimeout: Duration = .seconds(30),
    batchCapacity: Int = 100
  ) {
    self.kafka = kafka
    self.topic = topic
    self.partitions = partitions
    self.feeds = feeds
    self.savedState = savedState
    self.topicTimeout = topicTimeout
    self.batchCapacity = max(1, batchCapacity)
  }
}
