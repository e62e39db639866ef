/// How far a partition of the changesets topic was followed.
public struct PartitionDescription: Sendable, Equatable {
  /// The partition's number.
  public let number: Int32
  /// Everything before this offset was read.
  public let position: Int64
  /// How far behind the follower is with this partition; never `mustRefetch`.
  public let standing: FeedStanding
}
