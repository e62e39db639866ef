public import Feed

/// The feeds of a partition that a store has given up, as they were published.
///
/// Unchecked: nobody else has them, so they may go to another thread, once.
public struct GivenUpPartition: @unchecked Sendable {
  public let replicas: ReplicaPartition

  init(_ directory: FeedDirectory) { replicas = ReplicaPartition(continuing: directory) }
}
