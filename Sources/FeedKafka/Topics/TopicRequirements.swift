import Feed
package import FeedStore
package import Kafka

/// FeedStore's requirements on its topics; decided without Kafka.
package struct TopicRequirements: Sendable, Equatable {
  let topics: TopicNames
  /// The minimum `max.message.bytes` of the changesets topic.
  let changesetBytes: Int64
  /// The recommended minimum of the contents topic.
  let contentsBytes: Int64
  /// The maximum size of a producer's batch, in bytes.
  let batchBytes: Int64

  /// The maximum size of a record without its value: key, headers and framing. The key and three headers contain the
  /// feed's id (255 bytes), and one header a topic's name (249 bytes).
  static let recordOverhead: Int64 = 4_096
  /// The same for a rejected record, which adds a message that quotes a bounded piece of the input.
  static let rejectedOverhead: Int64 = 16_384
  /// The recommended settings of the changesets topic: the share of a log that may be outdated before it is compacted,
  /// and the time after which its newest part can be compacted.
  static let dirtyRatio = 0.1
  static let segmentMilliseconds: Int64 = 3_600_000
  /// The minimum time to keep deletions: longer than any reader needs to read the topic.
  static let deletionMilliseconds: Int64 = 3_600_000
  /// The minimum time to keep input: a long weekend.
  static let retentionMilliseconds: Int64 = 259_200_000

  /// - Parameters:
  ///   - options: names and sizes.
  ///   - batchBytes: the producer's `batch.size`. Brokers limit batches, not records: a topic must accept a batch of
  ///     many small records and a single record of the maximum size.
  package init(_ options: FeedStoreOptions, batchBytes: Int) {
    topics = options.topics
    self.batchBytes = Int64(batchBytes)
    let overhead = Self.recordOverhead + Int64(options.output.source.utf8.count)
    changesetBytes = max(Int64(options.output.maxMessageBytes) + overhead, Int64(batchBytes))
    contentsBytes = max(Int64(options.limits.maxDataBytes / 8) + Self.recordOverhead, Int64(batchBytes))
  }

  /// The role of each topic; the inputs may be one topic.
  package var roles: [(topic: String, role: TopicRole)] {
    topics.inputs.map { ($0, .input) } + [(topics.changesets, .changesets), (topics.rejected, .rejected)]
      + (topics.contents.map { [($0, .contents)] } ?? [])
  }

  /// The recommended minimum `max.message.bytes` of the rejected topic; nil if the inputs' is unknown.
  func rejectedBytes(_ states: [String: TopicState]) -> Int64? {
    let inputs = topics.inputs.compactMap { states[$0]?.integer("max.message.bytes") }
    return inputs.max().map { max($0 + Self.rejectedOverhead, batchBytes) }
  }

  // MARK: Creation

  /// The default number of partitions of new topics. It cannot change while there are feeds, and limits the number of
  /// workers; twelve divides evenly in many ways.
  package static let defaultPartitions: Int32 = 12

  /// The topics to create, so that all exist and match the existing ones.
  ///
  /// - Parameters:
  ///   - partitions: the number of partitions; nil for an existing input's, or the default.
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
      missing.contains(where: { !$0.role.hasFreePartitions })
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
    case .contents:
      [
        "cleanup.policy": "compact", "max.message.bytes": "\(max(contentsBytes, Self.usualMessageBytes))",
      ]
    }
  }

  /// The brokers' default `max.message.bytes`.
  package static let usualMessageBytes: Int64 = 1_048_588

  /// For inputs with the brokers' default.
  private var newRejectedBytes: Int64 { max(Self.usualMessageBytes + Self.rejectedOverhead, batchBytes) }
}

/// One of FeedStore's requirements on a topic, and whether it is met.
package struct TopicRequirement: Sendable, Equatable, CustomStringConvertible {
  /// The subject; raw values of settings are Kafka's names.
  package enum Kind: String, Sendable, CaseIterable {
    case partitions
    case cleanupPolicy = "cleanup.policy"
    case messageBytes = "max.message.bytes"
    case dirtyRatio = "min.cleanable.dirty.ratio"
    case segmentTime = "segment.ms"
    case deletionTime = "delete.retention.ms"
    case retentionTime = "retention.ms"
    case retentionBytes = "retention.bytes"
  }

  package enum Verdict: String, Sendable {
    case met = "ok"
    /// The actual value could not be read, or the topic does not exist and will be created with the required value.
    case unknown = "?"
    /// FeedStore works, but at a higher cost or with less safety.
    case should
    /// FeedStore cannot work, or loses data.
    case must
  }

  package let topic: String
  package let kind: Kind
  package let verdict: Verdict
  /// The actual value; nil if unknown.
  package let actual: String?
  package let needed: String
  /// Why the requirement exists.
  package let reason: String
  /// The remedy.
  package let remedy: String

  package var isMismatch: Bool { verdict == .must || verdict == .should }

  package var description: String {
    "\(topic): \(kind.rawValue) \(actual ?? "not known"), needed \(needed), as \(reason); \(remedy)"
  }
}

/// The use of a topic by FeedStore.
package enum TopicRole: String, Sendable, CaseIterable {
  /// Update records are read from it.
  case input
  /// Changesets are published to it, and read after a restart.
  case changesets
  /// Records that could not be applied are kept in it.
  case rejected
  /// Contents are read from it, from its beginning after each start.
  case contents

  /// Whether its topic may have any number of partitions.
  var hasFreePartitions: Bool { self == .rejected || self == .contents }
}

extension TopicNames {
  /// The input topics; one if both are the same.
  package var inputs: [String] { sections == items ? [items] : [sections, items] }

  /// All topics, each once.
  package var distinct: [String] { inputs + [changesets, rejected] + (contents.map { [$0] } ?? []) }
}
