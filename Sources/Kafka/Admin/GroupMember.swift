/// A member of a consumer group, as the group's coordinator knows it.
public struct GroupMember: Sendable, Equatable {
  /// Its id in the group.
  public let memberID: String
  /// Its `client.id`.
  public let clientID: String
  /// The address of its client, as the brokers see it.
  public let host: String
  /// The partitions assigned to it.
  public let partitions: [TopicPartition]

  /// Creates a member, for tests.
  public init(memberID: String = "", clientID: String, host: String, partitions: [TopicPartition]) {
    self.memberID = memberID
    self.clientID = clientID
    self.host = host
    self.partitions = partitions
  }
}
