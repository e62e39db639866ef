/// One partition of a topic.
public struct TopicPartition: Hashable, Sendable, CustomStringConvertible {
  public var topic: String
  /// The number of the partition, from 0.
  public var partition: Int32

  public init(topic: String, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }

  public var description: String { "\(topic) [\(partition)]" }
}
