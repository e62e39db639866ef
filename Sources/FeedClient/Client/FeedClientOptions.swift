public import Kafka

/// What a client follows, and how it reads it.
public struct FeedClientOptions: Sendable {
  /// Properties of librdkafka, such as `bootstrap.servers`. The client sets isolation, offset storage and
  /// end-of-partition events itself.
  public var kafka: KafkaConfiguration
  /// The changesets topic.
  public var topic: String
  /// The partitions to follow at first; nil for all partitions of the topic.
  public var partitions: Set<Int32>?
  /// The ids of the feeds to follow; nil for all. Ids are compared by their bytes. Records of other feeds are skipped
  /// without decoding, nothing is kept of them, and subscribers to them receive `absent`.
  public var feeds: [String]?
  /// How long to wait for a topic that the brokers do not know yet, such as one that was just created; the log says so
  /// every few seconds. Brokers that cannot be reached are waited for without limit.
  public var topicTimeout: Duration
  /// The maximum number of records that are taken from librdkafka at once. `queued.max.messages.kbytes` limits how much
  /// librdkafka prefetches.
  public var batchCapacity: Int

  /// Creates options; by default, all feeds of the topic are followed from its beginning.
  public init(
    kafka: KafkaConfiguration,
    topic: String = "feeds.changesets",
    partitions: Set<Int32>? = nil,
    feeds: [String]? = nil,
    topicTimeout: Duration = .seconds(30),
    batchCapacity: Int = 100
  ) {
    self.kafka = kafka
    self.topic = topic
    self.partitions = partitions
    self.feeds = feeds
    self.topicTimeout = topicTimeout
    self.batchCapacity = max(1, batchCapacity)
  }
}
