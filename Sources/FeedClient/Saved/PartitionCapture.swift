import Feed

/// The state of one partition at one moment, for saving. Its snapshots share the replicas' storage.
struct PartitionCapture: Sendable {
  let partition: SavedPartition
  /// Sorted by the bytes of their ids.
  let feeds: [SavedFeed]
  /// Stale feeds without a replica, with the reason.
  let lost: [(feed: ByteText, reason: String)]
}
