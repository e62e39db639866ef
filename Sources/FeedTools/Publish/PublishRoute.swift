import Feed
import FeedKafka
import Kafka

/// Chooses the partitions for records of one topic.
struct PublishRoute {
  let topic: String
  /// Whether the topic is an input, whose keys determine the partitions.
  private let isInput: Bool
  private var partitioner: Murmur2Partitioner

  init(_ topic: String, isInput: Bool, partitionCount: Int32) {
    self.topic = topic
    self.isInput = isInput
    partitioner = Murmur2Partitioner(partitionCount: partitionCount)
  }

  /// The partition of a record.
  ///
  /// On an input topic, the key determines it, because the number of partitions may have changed since the recording.
  /// On other topics, the recorded partition is kept: a changeset's partition is its feed's, and does not follow from
  /// its key.
  ///
  /// - Throws: ``DaemonError`` if the partition does not exist.
  mutating func partition(key: UnsafeRawBufferPointer?, recorded: Int32) throws(DaemonError) -> Int32 {
    if isInput { return partitioner.partition(forKey: key) }
    guard recorded >= 0, recorded < partitioner.partitionCount else {
      throw DaemonError(
        .partitionCounts,
        """
        a record is of \(topic) [\(recorded)], but the topic has \(partitioner.partitionCount) partitions; \
        add partitions, or change the record
        """
      )
    }
    return recorded
  }
}
