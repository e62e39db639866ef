/// What happens to the partitions of a member of a group.
public enum RebalanceEvent: Sendable, Hashable {
  /// The partitions have been assigned, and nothing has been read of them. They can be paused and sought
  /// now, before their first record. Possibly none: an idle member.
  case assigned([TopicPartition])

  /// The partitions are about to be given up: what was read of them can still be published and committed.
  case revoking([TopicPartition])

  /// The partitions are gone and may have another owner: what is not committed cannot be any more.
  case lost([TopicPartition])
}
