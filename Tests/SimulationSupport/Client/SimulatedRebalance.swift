public import Kafka

/// A change of the partitions that a member has, which its owner completes.
public struct SimulatedRebalance: Equatable {
  public enum Kind: Sendable { case assigned, revoking, lost }

  public let kind: Kind
  public let partitions: [TopicPartition]
  /// Whether the group has put the member out in the midst of a rebalance.
  public let needsNewConsumer: Bool

  init(_ kind: Kind, _ partitions: some Sequence<TopicPartition>, needsNewConsumer: Bool = false) {
    self.kind = kind
    self.partitions = partitions.sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
    self.needsNewConsumer = needsNewConsumer
  }
}
