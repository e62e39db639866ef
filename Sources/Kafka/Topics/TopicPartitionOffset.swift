import CRdkafka

/// A position in a partition: the offset of the next record to read.
public struct TopicPartitionOffset: Hashable, Sendable, CustomStringConvertible {
  public var topic: String
  /// The number of the partition, from 0.
  public var partition: Int32
  /// An offset from 0, or one of the logical offsets `beginning`, `end` and `stored`.
  public var offset: Int64

  public init(topic: String, partition: Int32, offset: Int64) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
  }

  public init(_ partition: TopicPartition, offset: Int64) {
    self.init(topic: partition.topic, partition: partition.partition, offset: offset)
  }

  public var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }

  public var description: String { "\(topic) [\(partition)] @ \(offset)" }

  /// The oldest record.
  public static let beginning = Int64(RD_KAFKA_OFFSET_BEGINNING)
  /// After the newest record.
  public static let end = Int64(RD_KAFKA_OFFSET_END)
  /// The group's committed offset; without one, `auto.offset.reset` decides.
  public static let stored = Int64(RD_KAFKA_OFFSET_STORED)
}
