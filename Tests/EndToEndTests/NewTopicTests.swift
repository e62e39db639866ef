import Diagnostics
import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import FeedWorker
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Synchronization
import Testing

@testable import FeedDaemon
@testable import FeedTools

/// Topics that brokers do not know yet when they are first queried.
struct NewTopicTests {
  @Test func `a daemon that starts right after its topics were created waits for them`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.topics.rejected = "late"
    try ground.produce([TopicRecord("a", #"{"op":"section.upsert","section":"s"}"#)], to: "feeds.items")
    let report = try await ground.runDaemon(applying: 1, log: Self.creating("late", ground))
    #expect(report.counters.records == 1)
  }

  @Test func `input that was not assigned, because a broker did not know it yet, is read`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    try ground.produce([TopicRecord("a", #"{"op":"section.upsert","section":"s"}"#)], to: "feeds.items")
    let cluster = ground.cluster
    @Sendable func setError(_ error: KafkaErrorCode?) {
      for topic in ["feeds.items", "feeds.sections"] { try? cluster.setTopicError(topic, error) }
    }
    let log = Ground.log { line in
      // After the daemon has found the topics, and before the group assigns them.
      if line.contains("event=group.joining") { setError(.unknownTopicOrPartition) }
      if line.contains("partitions=none") { setError(nil) }
    }
    let report = try await ground.runDaemon(applying: 1, log: log)
    #expect(report.counters.records == 1)
  }

  @Test func `records are published to a new topic`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    let file = try DemoFile(#"{"topic":"late","ts":0,"key":"a","value":{"op":"feed.delete"}}"#)
    defer { withExtendedLifetime(file) {} }
    var publisher = FilePublisher(
      ground.configuration,
      inputs: [file.path],
      speed: nil,
      stop: StopRequest(),
      log: Self.creating("late", ground)
    )
    publisher.showsProgress = false
    #expect(try await publisher.run().topics == ["late": 1])
  }

  @Test func `verify, follow, rejects and config --check wait for a new topic`()
    async throws
  {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.topics.changesets = "late.verified"
    let report = try await Verification.run(
      ground.configuration,
      input: .topic,
      log: Self.creating("late.verified", ground),
      tell: { _ in }
    )
    #expect(report.isRight)

    ground.configuration.store.topics.changesets = "late.followed"
    var following = FeedFollowing(
      ground.configuration,
      form: .json,
      stop: StopRequest(),
      log: Self.creating("late.followed", ground)
    ) { _ in true }
    following.feeds = ["a"]
    #expect(try await following.printSnapshot() == [#"there is no feed "a""#])

    ground.configuration.store.topics.rejected = "late.rejected"
    let rejected = try await RejectedListing.run(
      ground.configuration,
      isJSON: true,
      log: Self.creating("late.rejected", ground)
    ) { _ in true }
    #expect(rejected == RejectedReport())

    ground.configuration.store.topics.rejected = "late.checked"
    var setup = TopicSetup(ground.configuration, log: Self.creating("late.checked", ground))
    setup.timeoutMilliseconds = 1_000
    setup.waits = true
    #expect(try await setup.run().isFit)
  }

  @Test func `a missing topic is waited for, and then named`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.topics.rejected = "nowhere"
    ground.configuration.startupTimeoutMilliseconds = 300
    let lines = Mutex<[String]>([])
    let log = Ground.log(.warning) { line in lines.withLock { $0.append(line) } }
    let daemon = ground.daemon(stop: StopRequest(), log: log) { _ in }
    let error = await #expect(throws: DaemonError.self) { try await daemon.run() }
    #expect(error?.code == .missingTopic && error?.message.contains("topic nowhere does not exist") == true)
    let told = "event=startup.waiting-for-topics missing=nowhere remaining=1s"
    #expect(lines.withLock { $0.filter { $0.contains(told) }.count } == 1)
  }

  /// A log that creates the topic when a line reports the wait for it.
  private static func creating(_ topic: String, _ ground: Ground) -> Log {
    let cluster = ground.cluster
    return Ground.log(.warning) { line in
      if line.contains("waiting for topic"), line.contains(topic) {
        try? cluster.createTopic(topic, partitions: 1)
      }
    }
  }
}
