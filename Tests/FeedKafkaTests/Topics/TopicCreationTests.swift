import Feed
import FeedStore
import Kafka
import Testing

@testable import FeedKafka

struct TopicCreationTests {
  private let requirements = TopicRequirements(FeedStoreOptions(), batchBytes: 1_000_000)

  private func missing(
    _ states: [String: TopicState],
    partitions: Int32? = nil,
    replicationFactor: Int32? = nil
  ) throws -> [TopicSpecification] {
    try requirements.missingTopics(states, partitions: partitions, replicationFactor: replicationFactor)
  }

  @Test func `all topics are created if none exists`() throws {
    let topics = try missing([:])
    #expect(topics.map(\.name) == ["feeds.sections", "feeds.items", "feeds.changesets", "feeds.rejected"])
    #expect(topics.allSatisfy { $0.partitions == 12 && $0.replicationFactor == -1 })
    #expect(topics[0].configuration["cleanup.policy"] == "delete")
    #expect(topics[2].configuration["cleanup.policy"] == "compact")
    #expect(topics[2].configuration["min.cleanable.dirty.ratio"] == "0.1")
    #expect(topics[2].configuration["segment.ms"] == "3600000")
    #expect(topics[3].configuration["cleanup.policy"] == "delete")
  }

  @Test func `a contents topic is compacted, and accepts the largest contents`() throws {
    var options = FeedStoreOptions()
    options.topics.contents = "feeds.contents"
    func created(
      _ states: [String: TopicState] = [:],
      _ partitions: Int32? = nil
    ) throws -> TopicSpecification? {
      try TopicRequirements(options, batchBytes: 1_000_000)
        .missingTopics(states, partitions: partitions, replicationFactor: nil).last
    }
    #expect(try created()?.name == "feeds.contents")
    #expect(
      try created()?.configuration == ["cleanup.policy": "compact", "max.message.bytes": "1048588"]
    )
    options.limits.maxDataBytes = 80_000_000
    #expect(try created()?.configuration["max.message.bytes"] == "10004096")
    // It may have another number of partitions than the inputs.
    let others = Dictionary(
      uniqueKeysWithValues: requirements.roles.map { ($0.topic, TopicState(partitions: 5)) }
    )
    #expect(try created(others)?.partitions == 5)
    #expect(try created(others, 2)?.partitions == 2)
  }

  @Test func `given numbers are used`() throws {
    let topics = try missing([:], partitions: 3, replicationFactor: 2)
    #expect(topics.allSatisfy { $0.partitions == 3 && $0.replicationFactor == 2 })
  }

  @Test func `new topics have as many partitions as an existing input`() throws {
    let topics = try missing(["feeds.items": TopicState(partitions: 5)])
    #expect(topics.map(\.name) == ["feeds.sections", "feeds.changesets", "feeds.rejected"])
    #expect(topics.allSatisfy { $0.partitions == 5 })
  }

  @Test func `nothing is created if everything exists, whatever numbers are given`() throws {
    let names = requirements.roles.map(\.topic)
    let states = Dictionary(uniqueKeysWithValues: names.map { ($0, TopicState(partitions: 5)) })
    #expect(try missing(states, partitions: 9).isEmpty)
  }

  @Test func `a number of partitions that contradicts an existing input is refused`() {
    let error = #expect(throws: DaemonError.self) {
      try missing(["feeds.items": TopicState(partitions: 5)], partitions: 6)
    }
    #expect(error?.code == .partitionCounts)
    #expect(error?.message.contains("with 6 partitions, as feeds.items has 5") == true)
  }
}
