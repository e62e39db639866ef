/// A change of the partitions that a member of a group has.
///
/// A poll brings it, and its owner completes it with `Consumer.complete` when ready. Until then the group
/// waits for this member, and no record comes of any of its partitions.
public struct Rebalance: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    /// The partitions come, possibly none; the others stay. They are this member's once it is completed.
    case assigned
    /// The partitions go: what was read of them can still be published and committed before it is completed.
    case revoking
    /// The partitions are gone and may have another owner: what is not committed cannot be any more.
    case lost
  }

  public let kind: Kind
  public let partitions: [TopicPartition]
  /// Whether the group has put the member out and taken it in again without telling, so that it cannot be relied on what
  /// the group believes it to have. All its partitions are lost then, and the consumer has to be replaced.
  public let needsNewConsumer: Bool

  init(_ kind: Kind, _ partitions: [TopicPartition], needsNewConsumer: Bool = false) {
    self.kind = kind
    self.partitions = partitions
    self.needsNewConsumer = needsNewConsumer
  }
}
