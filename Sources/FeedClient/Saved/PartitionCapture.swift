import Feed

/// The state of one partition at one moment, for saving. Its snapshots share the replicas' storage.
struct PartitionCapture: Sendable {
  let partition: SavedPartition
  /// Sorted by the bytes of their ids.
  let feeds: [SavedFeed]
  /// Why feeds cannot be followed, including feeds without a replica.
  let lost: [ByteText: String]
}
