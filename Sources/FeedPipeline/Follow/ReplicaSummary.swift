import Feed

/// What a replica is now, in numbers that the store's can be compared with.
struct ReplicaSummary: Sendable, Equatable {
  var partition: Int32
  var feed: String
  var revision: UInt64
  var sectionCount: Int
  var itemCount: Int
  var checksum: UInt32
  /// Whether it waits for a reload, having missed something.
  var isStale: Bool

  init(partition: Int32, _ replica: Replica) {
    self.partition = partition
    feed = replica.feed
    revision = replica.revision
    sectionCount = replica.sectionCount
    itemCount = replica.itemCount
    checksum = replica.checksum
    isStale = replica.isStale
  }
}
