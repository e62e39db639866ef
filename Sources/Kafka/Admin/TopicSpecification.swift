/// A topic to be created.
public struct TopicSpecification: Sendable, Hashable {
  public var name: String
  /// The number of partitions, at least 1; -1 is what the brokers make by default.
  public var partitions: Int32
  /// The number of brokers that hold each partition, at least 1; -1 is what the brokers make by default.
  public var replicationFactor: Int32
  /// Names and values of the topic's settings that are not to be the brokers' defaults.
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
