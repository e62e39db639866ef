package import Feed

/// A feed of one partition. The same id in two partitions denotes two feeds (protocol, section 1.1).
package struct FeedAddress: Sendable, Hashable {
  /// Nil for a feed that is in no partition.
  package let partition: Int32?
  package let id: ByteText

  package init(_ partition: Int32?, _ id: ByteText) {
    self.partition = partition
    self.id = id
  }
}
