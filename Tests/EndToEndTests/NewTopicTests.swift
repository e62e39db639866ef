import FeedStore
import Kafka
import Service
import Testing

@testable import FeedPipeline

/// Topics that brokers do not tell of yet when they are first asked.
struct NewTopicTests {
  @Test func `a daemon that is started right after its topics were created waits for them`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.topics.rejected = "late"
    try ground.produce([StoredRecord("a", #"{"op":"section.upsert","section":"s"}"#)], to: "feeds.items")
    let report = try await ground.runDaemon(applying: 1, log: Self.creating("late", ground))
    #expect(report.counters.records == 1)
  }

  @Test func `input that the group left to nobody, as a broker did not know it yet, is read`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    try ground.produce([StoredRecord("a", #"{"op":"section.upsert","section":"s"}"#)], to: "feeds.items")
    let cluster = ground.cluster
    @Sendable func setError(_ error: KafkaErrorCode?) {
      for topic in ["feeds.items", "feeds.sections"] { try? cluster.setTopicError(topic, error) }
    }
    let log = Ground.log { line in
      // After the daemon was told of the topics, and before it shares them out.
      if line.contains("event=group.joining") { setError(.unknownTopicOrPartition) }
      if line.contains("partitions=none") { setError(nil) }
    }
    let report = try await ground.runDaemon(applying: 1, log: log)
    #expect(report.counters.records == 1)
  }

  @Test func `records are published to a topic that was just created`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    let file = try DemoFile(#"{"topic":"late","ts":0,"key":"a","value":{"op":"feed.delete"}}"#)
    defer { withExtendedLifetime(file) {} }
    var publisher = Publisher(
      ground.configuration,
      inputs: [file.path],
      speed: nil,
      stop: StopRequest(),
      log: Self.creating("late", ground)
    )
    publisher.showsProgress = false
    #expect(try await publisher.run().topics == ["late": 1])
  }

  /// A log that creates the topic as soon as somebody says that it waits for it.
  private static func creating(_ topic: String, _ ground: Ground) -> Log {
    let cluster = ground.cluster
    return Ground.log(.warning) { line in
      if line.contains("event=startup.waiting-for-topics"), line.contains(topic) {
        try? cluster.createTopic(topic, partitions: 1)
      }
    }
  }
}
