import FeedStore
package import Kafka

extension TopicRequirements {
  /// The default number of partitions of new topics. It cannot change while there are feeds, and limits the number of
  /// workers; twelve divides evenly in many ways.
  package static let defaultPartitions: Int32 = 12

  /// The topics to create, so that all exist and match the existing ones.
  ///
  /// - Parameters:
  ///   - partitions: the number of partitions; nil for that of an existing input, or the default.
  ///   - replicationFactor: the replication factor; nil for the brokers' default.
  /// - Throws: ``DaemonError`` if the number of partitions does not match an existing input.
  package func missingTopics(
    _ states: [String: TopicState],
    partitions: Int32?,
    replicationFactor: Int32?
  ) throws(DaemonError) -> [TopicSpecification] {
    let missing = roles.filter { states[$0.topic]?.exists != true }
    let existing = topics.inputs.compactMap { name in states[name]?.partitions.map { (name, $0) } }.first
    if let partitions, let existing, partitions != existing.1,
      missing.contains(where: { $0.role != .rejected })
    {
      throw DaemonError(
        .partitionCounts,
        """
        cannot create topics with \(partitions) partitions, as \(existing.0) has \(existing.1); \
        leave out --partitions, so that they have as many
        """
      )
    }
    return missing.map { topic, role in
      TopicSpecification(
        topic,
        partitions: partitions ?? existing?.1 ?? Self.defaultPartitions,
        replicationFactor: replicationFactor ?? -1,
        configuration: settings(for: role, states)
      )
    }
  }

  /// The settings of a new topic; others keep the brokers' defaults.
  func settings(for role: TopicRole, _ states: [String: TopicState] = [:]) -> [String: String] {
    switch role {
    case .input:
      ["cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"]
    case .changesets:
      [
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "\(Self.dirtyRatio)",
        "segment.ms": "\(Self.segmentMilliseconds)",
        "max.message.bytes": "\(max(changesetBytes, Self.usualMessageBytes))",
      ]
    case .rejected:
      [
        "cleanup.policy": "delete",
        "max.message.bytes": "\(rejectedBytes(states) ?? newRejectedBytes)",
      ]
    }
  }

  /// The brokers' default `max.message.bytes`.
  private static let usualMessageBytes: Int64 = 1_048_588

  /// For inputs with the brokers' default.
  private var newRejectedBytes: Int64 { max(Self.usualMessageBytes + Self.rejectedOverhead, batchBytes) }
}
