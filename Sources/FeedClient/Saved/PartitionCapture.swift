import Feed

/// What one partition is at one moment, to be saved. Its snapshots share the replicas' storage.
struct PartitionCapture: Sendable {
  let partition: SavedPartition
  /// Sorted by the bytes of their ids.
  let feeds: [SavedFeed]
  /// Why feeds cannot be followed, also such of which nothing else is known.
  let lost: [ByteText: String]
}
