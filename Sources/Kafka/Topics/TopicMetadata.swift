/// The numbers of partitions of topics, and the topics that do not exist.
public struct TopicMetadata: Sendable, Hashable {
  /// The number of partitions of each topic that exists.
  public var partitionCounts: [String: Int32] = [:]

  /// The topics that do not exist or are not visible to the client, in the order of the request.
  public var missing: [String] = []
}
