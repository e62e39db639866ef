package import Diagnostics
package import FeedConfiguration
package import FeedKafka
import Kafka
import OperatingSystem

/// `feedstore topics`: compares the topics with FeedStore's requirements, and creates missing ones.
package struct TopicSetup: Sendable {
  package var configuration: FeedStoreConfiguration
  /// Whether to create missing topics.
  package var creates = false
  /// The number of partitions of new topics; nil for an existing input's, or the default.
  package var partitions: Int32?
  /// The replication factor of new topics; nil for the brokers' default.
  package var replicationFactor: Int32?
  /// Whether to wait up to `startup.timeout` for topics that the brokers do not know yet. It always waits for topics
  /// that it created.
  package var waits = false
  package var log: Log
  /// A shorter timeout for each request.
  package var timeoutMilliseconds: Int32 = .max

  private static let creationMilliseconds: Int32 = 30_000
  private static let closeMilliseconds: Int32 = 2_000

  package init(_ configuration: FeedStoreConfiguration, log: Log) {
    self.configuration = configuration
    self.log = log
  }

  /// Queries the cluster, creates missing topics if requested, and queries again.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the brokers cannot be reached, the number of partitions
  ///   does not match, or topics are to be created on an embedded broker. The report includes topics that could not be created.
  package func run() async throws -> TopicReport {
    try await WorkerThread.withKafka("topics", configuration) { try work($0) }
  }

  private func work(_ settings: KafkaSettings) throws -> TopicReport {
    let admin = try AdminClient(configuration: settings.admin, log: log.kafkaHandler)
    defer { try? admin.close(timeoutMilliseconds: Self.closeMilliseconds) }
    if creates,
      try admin.isOnEmbeddedCluster(timeoutMilliseconds: TopicInspection.settingsMilliseconds)
    {
      throw DaemonError(
        .missingTopic,
        "an embedded broker cannot create topics; it has those of the daemon's configuration, so set topics.* there"
      )
    }
    let requirements = TopicRequirements(configuration.store, batchBytes: settings.batchBytes)
    let inspection = TopicInspection(admin: admin, topics: requirements.roles.map(\.topic), log: log)
    let wait = TopicWait(milliseconds: configuration.startupTimeoutMilliseconds)
    var (states, unknown) = try inspection.states(
      waitingFor: waits ? inspection.topics : [],
      wait: wait,
      timeoutMilliseconds: timeoutMilliseconds
    )
    var created: [String] = []
    var failures: [String: KafkaError] = [:]
    if creates {
      let missing = try requirements.missingTopics(
        states,
        partitions: partitions,
        replicationFactor: replicationFactor
      )
      failures = try admin.createTopics(
        missing,
        timeoutMilliseconds: min(timeoutMilliseconds, Self.creationMilliseconds)
      )
      // Another process created it first; its state is checked below.
      failures = failures.filter { $0.value.kind != .topicAlreadyExists }
      created = missing.map(\.name).filter { failures[$0] == nil }
      if !created.isEmpty {
        (states, unknown) = try inspection.states(
          waitingFor: created,
          wait: wait,
          timeoutMilliseconds: timeoutMilliseconds
        )
      }
    }
    let sources = try admin.metadata(
      configuration.ingest.topics,
      timeoutMilliseconds: TopicInspection.settingsMilliseconds
    )
    return TopicReport(
      missingSources: configuration.ingest.topics.filter { sources.partitionCounts[$0] == nil },
      requirements: requirements.check(states),
      unknown: unknown?.description,
      created: created,
      failures: failures.values.map(\.description).sorted()
    )
  }
}

/// FeedStore's requirements on its topics, and whether they are met.
package struct TopicReport: Sendable, Equatable {
  /// Topics of `ingest.sources` that do not exist, or may not be read.
  package var missingSources: [String] = []
  /// All requirements, by topic.
  package let requirements: [TopicRequirement]
  /// The error of reading the settings, if any.
  package let unknown: String?
  /// The topics that were created.
  package let created: [String]
  /// Why topics could not be created.
  package let failures: [String]

  /// Whether FeedStore can work with the topics. Unknown settings are accepted.
  package var isFit: Bool { !requirements.contains { $0.verdict == .must } }

  /// The table; every line ends with a line feed.
  package var table: String {
    var rows = [["topic", "what", "is", "needed", ""]]
    var last = ""
    for requirement in requirements {
      rows.append([
        requirement.topic == last ? "" : requirement.topic,
        requirement.kind.rawValue,
        requirement.actual ?? "?",
        requirement.needed,
        requirement.verdict.rawValue,
      ])
      last = requirement.topic
    }
    return FollowLine.table(rows)
  }

  /// Actions taken, problems and remedies, one line each.
  package var notes: [String] {
    created.map { "created \($0)" }
      + requirements.filter(\.isMismatch).map { "\($0.verdict.rawValue): \($0)" }
      + missingSources.map { "\($0) of ingest.sources does not exist, or may not be read" }
      + (unknown.map { ["settings marked ? are not known: \($0)"] } ?? [])
      + failures
  }
}
