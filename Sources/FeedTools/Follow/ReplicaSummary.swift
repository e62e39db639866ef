import Feed

/// A replica's current state in numbers, to compare with the store's.
package struct ReplicaSummary: Sendable, Equatable {
  package var partition: Int32
  package var feed: String
  package var revision: UInt64
  package var sectionCount: Int
  package var itemCount: Int
  package var checksum: UInt32
  /// Whether it has missed changesets and waits for a reload.
  package var isStale: Bool

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
