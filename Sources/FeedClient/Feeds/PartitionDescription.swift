/// How far a partition of the changesets topic was followed.
public struct PartitionDescription: Sendable, Equatable {
  /// The partition's number.
  public let number: Int32
  /// Everything before this offset was read.
  public let position: Int64
  /// Where the follower stands with it; never `mustRefetch`.
  public let standing: FeedStanding
}
