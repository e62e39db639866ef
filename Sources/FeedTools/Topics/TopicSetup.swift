public import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
public import Service

/// `feedstore topics`: compares the topics with FeedStore's requirements, and creates missing ones.
public struct TopicSetup: Sendable {
  public var configuration: FeedStoreConfiguration
  /// Whether to create missing topics.
  public var creates: Bool
  /// The number of partitions of new topics; nil for that of an existing input, or the default.
  public var partitions: Int32?
  /// The replication factor of new topics; nil for the brokers' default.
  public var replicationFactor: Int32?
  /// Whether to wait up to `startup.timeout` for topics that the brokers do not know yet. It always waits for topics
  /// that it created.
  public var waits = false
  public var log: Log
  /// A shorter timeout for each request; for tests.
  package var timeoutMilliseconds: Int32 = .max

  private static let creationMilliseconds: Int32 = 30_000
  private static let closeMilliseconds: Int32 = 2_000

  public init(
    _ configuration: FeedStoreConfiguration,
    creates: Bool = false,
    partitions: Int32? = nil,
    replicationFactor: Int32? = nil,
    log: Log
  ) {
    self.configuration = configuration
    self.creates = creates
    self.partitions = partitions
    self.replicationFactor = replicationFactor
    self.log = log
  }

  /// Queries the cluster, creates missing topics if requested, and queries again.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the brokers cannot be reached, the number of partitions
  ///   does not match, or topics are to be created on an embedded broker. The report includes topics that could not be created.
  public func run() async throws -> TopicReport {
    let settings = try KafkaSettings(configuration)
    return try await WorkerThread.withKafka("topics") { try work(settings) }
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
    return TopicReport(
      requirements: requirements.check(states),
      unknown: unknown?.description,
      created: created,
      failures: failures.values.map(\.description).sorted()
    )
  }
}
