/// A group's committed position in a partition.
public struct CommittedOffset: Hashable, Sendable {
  /// The offset of the next record to read.
  public var offset: Int64
  /// Metadata stored with the offset, by default at most 4096 bytes (`offset.metadata.max.bytes`); empty for none.
  public var metadata: String

  public init(_ offset: Int64, metadata: String = "") {
    self.offset = offset
    self.metadata = metadata
  }
}

extension [TopicPartition: CommittedOffset] {
  /// The places, for messages.
  var text: String {
    map { TopicPartitionOffset($0.key, offset: $0.value.offset).description }.sorted().joined(separator: ", ")
  }
}
