import Feed
import FeedKafka
import Kafka

/// Where the records of one topic go.
struct PublishRoute {
  let topic: String
  /// Whether the topic is an input, whose partitions follow from the keys.
  private let isInput: Bool
  private var partitioner: Murmur2Partitioner

  init(_ topic: String, isInput: Bool, partitionCount: Int32) {
    self.topic = topic
    self.isInput = isInput
    partitioner = Murmur2Partitioner(partitionCount: partitionCount)
  }

  /// The partition of a record.
  ///
  /// Of an input, that of its key, whatever the recording says: there may be another number of partitions
  /// now. Of another topic the recorded one, as a changeset's partition is that of its feed, not of its key.
  ///
  /// - Throws: ``DaemonError`` if there is no such partition.
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
