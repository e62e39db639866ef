import Kafka

/// From where each partition has to be read again if pending records are withdrawn, and what has to come next.
///
/// It knows what this worker has committed, and before its first commit where its reading began; so it says
/// the same as the broker for as long as the partitions are held and no commit's outcome is unknown.
struct InputPositions: Equatable {
  private var offsets: [TopicPartition: Int64] = [:]
  /// The least offset that may come next.
  private var nextOffsets: [TopicPartition: Int64] = [:]

  /// Notes that records were handed out, the first of a partition being where its reading began.
  ///
  /// - Parameters:
  ///   - first: the offset of the first of them.
  ///   - last: the offset of the last, all between being in order.
  /// - Returns: whether they are new; nothing is noted otherwise.
  mutating func take(_ partition: TopicPartition, first: Int64, last: Int64) -> Bool {
    if let next = nextOffsets[partition], first < next { return false }
    if offsets[partition] == nil { offsets[partition] = first }
    nextOffsets[partition] = last + 1
    return true
  }

  /// Notes that a partition was read up to an offset: what ends a transaction takes up offsets and is no record.
  ///
  /// - Returns: whether that is farther than its records; nothing is noted otherwise.
  mutating func reachEnd(_ partition: TopicPartition, _ offset: Int64) -> Bool {
    guard let next = nextOffsets[partition], next < offset else { return false }
    nextOffsets[partition] = offset
    return true
  }

  /// Notes where the reading begins, before the first record.
  mutating func begin(at starts: [TopicPartitionOffset]) {
    for start in starts {
      offsets[start.topicPartition] = start.offset
      nextOffsets[start.topicPartition] = start.offset
    }
  }

  /// Notes that offsets were committed.
  mutating func commit(_ covered: [TopicPartitionOffset]) {
    for position in covered { offsets[position.topicPartition] = position.offset }
  }

  /// Notes that the reading goes on at ``resume``.
  mutating func rewind() { nextOffsets = offsets }

  /// Up to where each partition is read.
  var read: [TopicPartition: Int64] { nextOffsets }

  /// Where to go on reading, sorted by topic and partition.
  var resume: [TopicPartitionOffset] { Self.sorted(offsets) }

  /// Where the next record comes from of each partition, sorted by topic and partition.
  var next: [TopicPartitionOffset] { Self.sorted(nextOffsets) }

  private static func sorted(_ offsets: [TopicPartition: Int64]) -> [TopicPartitionOffset] {
    offsets.map { TopicPartitionOffset($0.key, offset: $0.value) }
      .sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
  }

  /// Partitions of these numbers are somebody else's, or are restored once more.
  mutating func remove(_ partitions: Set<Int32>) {
    offsets = offsets.filter { !partitions.contains($0.key.partition) }
    nextOffsets = nextOffsets.filter { !partitions.contains($0.key.partition) }
  }
}
