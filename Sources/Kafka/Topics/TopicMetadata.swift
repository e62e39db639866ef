/// What the cluster says of some topics: how many partitions they have, and which do not exist.
public struct TopicMetadata: Sendable, Hashable {
  /// The number of partitions of each topic that exists.
  public var partitionCounts: [String: Int32] = [:]

  /// The topics that do not exist, or that the client may not see, in the order asked for.
  public var missing: [String] = []
}
