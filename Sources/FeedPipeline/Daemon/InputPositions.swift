import Kafka

/// From where each partition has to be read again if what waits is withdrawn.
///
/// It knows what this worker has committed, and before its first commit where its reading began; so it says
/// the same as the broker for as long as the partitions are held and no commit's outcome is unknown.
struct InputPositions {
  private var offsets: [TopicPartition: Int64] = [:]

  /// Notes that a record was handed out; the first of a partition is where its reading began.
  mutating func note(_ partition: TopicPartition, offset: Int64) {
    if offsets[partition] == nil { offsets[partition] = offset }
  }

  /// Whether a record of this partition has been noted.
  func knows(_ partition: TopicPartition) -> Bool { offsets[partition] != nil }

  /// Notes where the reading begins, before the first record.
  mutating func begin(at starts: [TopicPartitionOffset]) {
    for start in starts { offsets[start.topicPartition] = start.offset }
  }

  /// Notes that offsets were committed.
  mutating func commit(_ covered: [TopicPartitionOffset]) {
    for position in covered { offsets[position.topicPartition] = position.offset }
  }

  /// Where to go on reading, sorted by topic and partition.
  var resume: [TopicPartitionOffset] {
    offsets.map { TopicPartitionOffset($0.key, offset: $0.value) }
      .sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
  }

  /// The partitions are somebody else's.
  mutating func removeAll() { offsets.removeAll() }
}
