import Diagnostics
import FeedStatus
import FeedStore
import FeedTestSupport
import FeedWorker
import Foundation
import Kafka
import KafkaTestSupport
import OperatingSystem
import Oracle
import Settings
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedDaemon
@testable import FeedKafka
@testable import FeedTools

struct TopicSetupTests {
  private static let bootstrapServers = getenv("FEEDSTORE_TEST_BOOTSTRAP").map { String(cString: $0) }

  @Test func `if settings cannot be read, only partitions are checked`() async throws {
    let ground = try Ground(partitions: 3, rejected: 1)
    defer { ground.cluster.stop() }
    var setup = TopicSetup(ground.configuration, log: Ground.quiet)
    setup.timeoutMilliseconds = 1_000
    let report = try await setup.run()
    #expect(report.isFit)
    #expect(report.unknown?.contains("an embedded broker does not report them") == true)
    for requirement in report.requirements {
      #expect(requirement.verdict == (requirement.kind == .partitions ? .met : .unknown))
    }
  }

  @Test func `an embedded broker says at once that it cannot create topics`() async throws {
    let ground = try Ground(partitions: 3)
    defer { ground.cluster.stop() }
    var setup = TopicSetup(ground.configuration, log: Ground.quiet)
    setup.creates = true
    let error = try await #require(throws: DaemonError.self) { try await setup.run() }
    #expect(error.description.contains("an embedded broker cannot create topics"))
  }

  @Test func `brokers that cannot be reached are an error`() async throws {
    var configuration = FeedStoreConfiguration()
    configuration.kafka = [ConfigurationPair(name: "bootstrap.servers", value: "127.0.0.1:1")]
    var setup = TopicSetup(configuration, log: Ground.quiet)
    setup.timeoutMilliseconds = 500
    let unreachable = setup
    let error = await #expect(throws: DaemonError.self) { try await unreachable.run() }
    #expect(error?.isRetriable == true)
    #expect(error?.message.contains("feeds.changesets") == true)
  }

  @Test(.enabled(if: bootstrapServers != nil, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
  func `on a real cluster, topics are created as required, and only once`() async throws {
    let configuration = try Self.clusterConfiguration()
    var setup = TopicSetup(configuration, log: Ground.quiet)
    setup.creates = true
    setup.partitions = 3
    setup.replicationFactor = 1
    let report = try await setup.run()
    #expect(report.created.count == 4)
    #expect(report.failures.isEmpty)
    #expect(report.requirements.allSatisfy { $0.verdict == .met }, "\(report.table)")
    let again = try await setup.run()
    #expect(again.created.isEmpty)
    #expect(again.isFit)
    try Self.deleteTopics(configuration)
  }

  @Test(.enabled(if: bootstrapServers != nil, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
  func `the command exits with 1 if topics do not meet the requirements, and with 0 otherwise`() throws {
    let configuration = try Self.clusterConfiguration()
    let missing = try Self.run(configuration)
    #expect(missing.exitCode == 0, "\(missing.error)")
    #expect(missing.output.contains("must"))
    let check = try Self.run(configuration, "--check")
    #expect(check.exitCode == 1)
    #expect(check.output == missing.output)
    for topic in configuration.store.topics.distinct { #expect(check.error.contains(topic)) }

    let creation = try Self.run(configuration, "--create", "--check", "--partitions", "3")
    #expect(creation.exitCode == 0, "\(creation.error)")
    #expect(try Self.run(configuration, "--check").exitCode == 0)
    #expect(try Self.run(configuration, "--create").exitCode == 0)

    // The inputs must have equal numbers of partitions.
    var other = configuration
    other.store.topics.sections += ".other"
    let unequal = try Self.run(other, "--create", "--partitions", "2")
    #expect(unequal.exitCode == 1)
    #expect(unequal.error.contains(configuration.store.topics.items))
    #expect(try Self.run(other, "--check").exitCode == 1, "nothing was created")
    try Self.deleteTopics(configuration)
  }

  @Test(.enabled(if: bootstrapServers != nil, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
  func `publish refuses a record that is too large for its topic`() async throws {
    let configuration = try Self.clusterConfiguration()
    let topic = configuration.store.topics.items
    var setup = TopicSetup(configuration, log: Ground.quiet)
    setup.creates = true
    setup.partitions = 1
    _ = try await setup.run()
    let line = #"{"topic":"\#(topic)","key":"f","payload":"\#(String(repeating: "x", count: 1_300_000))"}"#
    let file = try DemoFile(line)
    let error = await #expect(throws: ReplayError.self) {
      try await Ground.publish(file: file.path, configuration)
    }
    let problem =
      "has 1300001 bytes, and max.message.bytes of \(topic) is 1048588; raise it, or send a smaller record"
    #expect(error?.message == "\(file.path):1: the record \(problem)")
    try Self.deleteTopics(configuration)
  }

  @Test(.enabled(if: bootstrapServers != nil, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
  func `a daemon warns of unsuitable topics, and runs`() async throws {
    var configuration = try Self.clusterConfiguration()
    let topics = configuration.store.topics
    configuration.kafka.append(ConfigurationPair(name: "group.id", value: topics.changesets))
    let admin = try AdminClient(
      configuration: ["bootstrap.servers": try #require(Self.bootstrapServers)],
      log: { _, _, _ in }
    )
    let changesets = TopicSpecification(
      topics.changesets,
      partitions: 1,
      configuration: ["cleanup.policy": "delete"]
    )
    #expect(try admin.createTopics([changesets], timeoutMilliseconds: 120_000).isEmpty)
    try admin.close(timeoutMilliseconds: 120_000)
    var setup = TopicSetup(configuration, log: Ground.quiet)
    setup.creates = true
    setup.partitions = 1
    _ = try await setup.run()

    let stop = StopRequest()
    let warnings = Mutex<[String]>([])
    // In either order, because the worker does not wait for the check.
    let met = Mutex<Set<String>>([])
    @Sendable func meet(_ what: String) {
      let isAll = met.withLock { met in
        met.insert(what)
        return met.count == 2
      }
      if isAll { stop.request() }
    }
    let log = Ground.log(.warning) { line in
      guard line.contains("event=startup.topic-mismatch") else { return }
      warnings.withLock { $0.append(line) }
      meet("warning")
    }
    _ = try await Daemon(configuration, stop: stop, log: log) { event in
      if event == .running { meet("running") }
    }.run()
    let lines = warnings.withLock { $0 }
    #expect(lines.count == 1)
    #expect(lines.first?.contains(topics.changesets) == true)
    #expect(lines.first?.contains("cleanup.policy") == true)
    try Self.deleteTopics(configuration)
  }

  /// The cluster, with names of topics that do not exist.
  private static func clusterConfiguration() throws -> FeedStoreConfiguration {
    let servers = try #require(bootstrapServers)
    let prefix = "feedstore.test.\(UInt64.random(in: 0...UInt64.max))."
    var configuration = FeedStoreConfiguration()
    configuration.kafka = [ConfigurationPair(name: "bootstrap.servers", value: servers)]
    configuration.store.topics.sections = prefix + "sections"
    configuration.store.topics.items = prefix + "items"
    configuration.store.topics.changesets = prefix + "changesets"
    configuration.store.topics.rejected = prefix + "rejected"
    return configuration
  }

  private static func run(_ configuration: FeedStoreConfiguration, _ options: String...) throws -> CommandRun
  {
    let topics = configuration.store.topics
    let settings = [
      "kafka.bootstrap.servers=\(try #require(bootstrapServers))", "topics.sections=\(topics.sections)",
      "topics.items=\(topics.items)", "topics.changesets=\(topics.changesets)",
      "topics.rejected=\(topics.rejected)",
    ]
    return try CommandRun(
      ["topics"] + settings.flatMap { ["--set", $0] } + options,
      in: FileManager.default.temporaryDirectory
    )
  }

  private static func deleteTopics(_ configuration: FeedStoreConfiguration) throws {
    let servers = try #require(bootstrapServers)
    let admin = try AdminClient(configuration: ["bootstrap.servers": servers], log: { _, _, _ in })
    let topics = configuration.store.topics.distinct
    #expect(try admin.deleteTopics(topics, timeoutMilliseconds: 120_000).isEmpty)
    try admin.close(timeoutMilliseconds: 120_000)
  }
}
