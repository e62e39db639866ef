import FeedConfiguration
import FeedStore
import FeedTools
import Kafka
import ObservationSupport
import Service

/// The topics and the group of a single run.
struct TestTopics: Sendable {
  /// The prefix of the topics' names, and the group's name.
  let prefix: String
  let partitions: Int32
  let names: TopicNames

  static let quiet = Log(level: .error, output: DiagnosticOutput(isTerminal: false) { _ in })
  private static let creationMilliseconds: Int32 = 120_000

  /// - Parameter label: a word that identifies the run on the cluster.
  init(_ label: String, partitions: Int32) {
    prefix = "feedstore.test.\(label).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
    self.partitions = partitions
    var names = TopicNames()
    names.sections = prefix + ".sections"
    names.items = prefix + ".items"
    names.changesets = prefix + ".changesets"
    names.rejected = prefix + ".rejected"
    self.names = names
  }

  /// The configuration of the tests' clients.
  var client: KafkaConfiguration { ["bootstrap.servers": TestCluster.bootstrapServers ?? ""] }

  /// The configuration of daemons, with short timeouts.
  var settings: [String: String] {
    [
      "kafka.bootstrap.servers": TestCluster.bootstrapServers ?? "",
      "kafka.group.id": prefix,
      // The brokers' default minimum.
      "kafka.session.timeout.ms": "6000",
      "kafka.heartbeat.interval.ms": "500",
      "topics.sections": names.sections,
      "topics.items": names.items,
      "topics.changesets": names.changesets,
      "topics.rejected": names.rejected,
    ]
  }

  /// Every partition of these topics.
  func all(_ topics: [String]) -> [TopicPartition] {
    topics.flatMap { topic in (0..<partitions).map { TopicPartition(topic: topic, partition: $0) } }
  }

  /// Creates all topics as `feedstore topics --create` does.
  ///
  /// - Parameter compaction: settings of the changesets topic; none for the defaults.
  func create(compaction: [String: String] = [:]) async throws {
    if !compaction.isEmpty {
      let admin = try AdminClient(configuration: client, log: { _, _, _ in })
      let topic = TopicSpecification(
        names.changesets,
        partitions: partitions,
        configuration: compaction.merging(["cleanup.policy": "compact"]) { $1 }
      )
      let failures = try admin.createTopics([topic], timeoutMilliseconds: Self.creationMilliseconds)
      try BrokerFailure.check(failures.isEmpty, "\(failures.values)")
      _ = try admin.waitForTopics([topic.name], timeoutMilliseconds: Self.creationMilliseconds)
      try admin.close(timeoutMilliseconds: Self.creationMilliseconds)
    }
    var configuration = FeedStoreConfiguration()
    configuration.kafka = [
      ConfigurationPair(name: "bootstrap.servers", value: TestCluster.bootstrapServers ?? "")
    ]
    configuration.store.topics = names
    let setup = TopicSetup(configuration, creates: true, partitions: partitions, log: Self.quiet)
    let report = try await setup.run()
    try BrokerFailure.check(report.failures.isEmpty, report.failures.joined(separator: "; "))
  }

  /// Deletes the topics. Brokers then forget the group's offsets, and the group.
  func delete() throws {
    let admin = try AdminClient(configuration: client, log: { _, _, _ in })
    let topics = [names.sections, names.items, names.changesets, names.rejected]
    let failures = try admin.deleteTopics(topics, timeoutMilliseconds: Self.creationMilliseconds)
    try admin.close(timeoutMilliseconds: Self.creationMilliseconds)
    try BrokerFailure.check(failures.isEmpty, "\(failures.values)")
  }
}
