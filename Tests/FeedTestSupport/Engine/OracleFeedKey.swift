/// A feed's identity: the same id in two partitions is two feeds.
public struct OracleFeedKey: Sendable, Hashable, Comparable {
  public let partition: Int
  public let id: [UInt8]

  public init(partition: Int, id: [UInt8]) {
    self.partition = partition
    self.id = id
  }

  /// The order of a flush: by partition, then by the id's bytes.
  public static func < (left: Self, right: Self) -> Bool {
    if left.partition != right.partition, keeps(.flushByPartition) { return left.partition < right.partition }
    return keeps(.flushByID)
      ? left.id.lexicographicallyPrecedes(right.id) : right.id.lexicographicallyPrecedes(left.id)
  }
}
