/// A topic to create.
public struct TopicSpecification: Sendable, Hashable {
  public var name: String
  /// The number of partitions, at least 1; -1 for the brokers' default.
  public var partitions: Int32
  /// The number of replicas of each partition, at least 1; -1 for the brokers' default.
  public var replicationFactor: Int32
  /// Settings that differ from the brokers' defaults, by name.
  public var configuration: [String: String]

  public init(
    _ name: String,
    partitions: Int32 = -1,
    replicationFactor: Int32 = -1,
    configuration: [String: String] = [:]
  ) {
    self.name = name
    self.partitions = partitions
    self.replicationFactor = replicationFactor
    self.configuration = configuration
  }
}
