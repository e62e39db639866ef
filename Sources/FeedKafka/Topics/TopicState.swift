/// The known state of a topic.
public struct TopicState: Sendable, Equatable {
  /// The number of partitions; nil if the topic does not exist or is not visible.
  public var partitions: Int32?
  /// The topic's settings, including the brokers' defaults; nil if they could not be read.
  public var settings: [String: String]?

  public init(partitions: Int32? = nil, settings: [String: String]? = nil) {
    self.partitions = partitions
    self.settings = settings
  }

  public var exists: Bool { partitions != nil }

  /// A setting as an integer.
  package func integer(_ name: String) -> Int64? { settings?[name].flatMap { Int64($0) } }

  /// The policies in `cleanup.policy`, sorted; nil if it is not known.
  var cleanupPolicies: [String]? {
    settings?["cleanup.policy"].map { policy in
      policy.split(separator: ",").map { $0.filter { $0 != " " } }.sorted()
    }
  }
}
