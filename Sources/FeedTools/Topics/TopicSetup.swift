public import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
public import Service

/// `feedstore topics`: shows what FeedStore needs of its topics and what is there, and creates what is
/// missing.
public struct TopicSetup: Sendable {
  public var configuration: PipelineConfiguration
  /// Whether to create what is missing.
  public var creates: Bool
  /// Partitions of what is created; nil for as many as an input that exists has, or the default.
  public var partitions: Int32?
  /// How many brokers hold each partition of what is created; nil for the brokers' default.
  public var replicationFactor: Int32?
  /// Whether to wait for topics that the brokers do not tell of yet, up to `startup.timeout`. What is created is waited
  /// for in any case.
  public var waits = false
  public var log: Log
  /// How long each question may take, where that is less than usual; for tests.
  package var timeoutMilliseconds: Int32 = .max

  private static let creationMilliseconds: Int32 = 30_000
  private static let closeMilliseconds: Int32 = 2_000

  public init(
    _ configuration: PipelineConfiguration,
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

  /// Asks the cluster, creates if told to, and asks again.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the brokers cannot be reached or the number of
  ///   partitions does not fit. A topic that could not be created is part of the report.
  public func run() async throws -> TopicReport {
    let settings = try KafkaSettings(configuration)
    return try await WorkerThread.withKafka("topics") { try work(settings) }
  }

  private func work(_ settings: KafkaSettings) throws -> TopicReport {
    let admin = try AdminClient(configuration: settings.admin, log: log.kafkaHandler)
    defer { try? admin.close(timeoutMilliseconds: Self.closeMilliseconds) }
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
      // Somebody else was quicker: what is there is looked at below.
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
