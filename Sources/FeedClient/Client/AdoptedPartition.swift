import Feed

/// What somebody else has read of a partition that is not followed yet.
struct AdoptedPartition {
  /// Everything before this offset was read.
  let position: Int64
  let replicas: ReplicaPartition

  /// Whether it is a part of what the partition contains now.
  func isWithin(low: Int64, high: Int64) -> Bool { low <= position && position <= high }
}
