/// What is known of a topic.
public struct TopicState: Sendable, Equatable {
  /// The number of partitions; nil if the topic does not exist or may not be seen.
  public var partitions: Int32?
  /// The topic's settings, those that are the brokers' defaults included; nil if they could not be read.
  public var settings: [String: String]?

  public init(partitions: Int32? = nil, settings: [String: String]? = nil) {
    self.partitions = partitions
    self.settings = settings
  }

  public var exists: Bool { partitions != nil }

  /// A setting that is a whole number.
  package func integer(_ name: String) -> Int64? { settings?[name].flatMap { Int64($0) } }

  /// The words of `cleanup.policy`, sorted; nil if it is not known.
  var cleanupPolicies: [String]? {
    settings?["cleanup.policy"].map { policy in
      policy.split(separator: ",").map { $0.filter { $0 != " " } }.sorted()
    }
  }
}
