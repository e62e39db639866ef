import FeedStore
import Testing

@testable import FeedKafka
@testable import FeedWorker
@testable import Kafka

struct TopicLayoutTests {
  static func metadata(
    _ sections: Int32?,
    _ items: Int32?,
    _ changesets: Int32?,
    _ rejected: Int32?,
    contents: Int32? = nil
  ) -> TopicMetadata {
    var metadata = TopicMetadata()
    metadata.partitionCounts["feeds.sections"] = sections
    metadata.partitionCounts["feeds.items"] = items
    metadata.partitionCounts["feeds.changesets"] = changesets
    metadata.partitionCounts["feeds.rejected"] = rejected
    metadata.partitionCounts["feeds.contents"] = contents
    return metadata
  }

  @Test func `equal inputs and enough outputs are accepted`() throws {
    let layout = try TopicLayout(TopicNames(), Self.metadata(6, 6, 8, 2))
    #expect(layout.inputPartitions == 6)
    #expect((0..<6).map { layout.rejectedPartition(of: $0) } == [0, 1, 0, 1, 0, 1])
  }

  @Test func `unequal inputs are refused with both counts`() {
    let error = #expect(throws: DaemonError.self) {
      try TopicLayout(TopicNames(), Self.metadata(3, 12, 12, 1))
    }
    #expect(error?.code == .partitionCounts)
    #expect(error?.message.contains("feeds.sections has 3 partitions and feeds.items has 12") == true)
    #expect(error?.message.contains("add partitions to feeds.sections up to 12") == true)
    #expect(error?.message.contains("start over there, and their old copies stay") == true)
  }

  @Test func `too few partitions for the changesets are refused with both counts`() {
    let error = #expect(throws: DaemonError.self) { try TopicLayout(TopicNames(), Self.metadata(6, 6, 4, 1)) }
    #expect(error?.code == .partitionCounts)
    #expect(error?.message.contains("feeds.changesets has 4 partitions, fewer than the 6") == true)
    #expect(error?.message.contains("add partitions up to 6") == true)
    #expect(error?.message.contains("start over there, and their old copies stay") == true)
  }

  @Test func `every topic that is missing is named`() {
    let error = #expect(throws: DaemonError.self) {
      try TopicLayout(TopicNames(), Self.metadata(6, nil, 6, nil))
    }
    #expect(error?.code == .missingTopic)
    #expect(error?.message.contains("topics feeds.items, feeds.rejected do not exist") == true)
  }

  @Test func `a contents topic must exist, with any number of partitions`() throws {
    var topics = TopicNames()
    topics.contents = "feeds.contents"
    _ = try TopicLayout(topics, Self.metadata(6, 6, 6, 1, contents: 1))
    let error = #expect(throws: DaemonError.self) { try TopicLayout(topics, Self.metadata(6, 6, 6, 1)) }
    #expect(error?.code == .missingTopic)
    #expect(error?.message.contains("feeds.contents") == true)
  }

  @Test func `one topic may be both inputs`() throws {
    var topics = TopicNames()
    topics.sections = "feeds.items"
    #expect(topics.inputs == ["feeds.items"])
    #expect(try TopicLayout(topics, Self.metadata(nil, 2, 2, 1)).inputPartitions == 2)
  }
}
