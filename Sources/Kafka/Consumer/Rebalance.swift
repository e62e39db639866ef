/// A change of the partitions that a group assigns to a member.
///
/// A poll returns it, and the owner completes it with `Consumer.complete` when it is ready. Until then the group waits
/// for this member, and no records of its partitions are delivered.
public struct Rebalance: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    /// Adds partitions, possibly none; the others stay. They belong to this member once the rebalance is completed.
    case assigned
    /// Removes partitions. What was read of them can still be published and committed before the rebalance is
    /// completed.
    case revoking
    /// Partitions were lost and may have another owner. What is not committed can no longer be committed.
    case lost
  }

  public let kind: Kind
  public let partitions: [TopicPartition]
  /// Whether the group has removed the member and admitted it again without notice, so that the group's view of its
  /// partitions is unreliable. All its partitions are lost, and the consumer must be replaced.
  public let needsNewConsumer: Bool

  init(_ kind: Kind, _ partitions: [TopicPartition], needsNewConsumer: Bool = false) {
    self.kind = kind
    self.partitions = partitions
    self.needsNewConsumer = needsNewConsumer
  }
}
