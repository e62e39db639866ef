/// A member of a consumer group, as the group's coordinator knows it.
public struct GroupMember: Sendable, Equatable {
  /// Its `client.id`.
  public let clientID: String
  /// The address that it came from, as the brokers see it.
  public let host: String
  /// What it was given to read.
  public let partitions: [TopicPartition]

  /// Makes a member, for tests.
  public init(clientID: String, host: String, partitions: [TopicPartition]) {
    self.clientID = clientID
    self.host = host
    self.partitions = partitions
  }
}
