import Changesets
import Testing

@testable import FeedClient
@testable import Kafka

/// The partitions that the follower's consumer reads when workers take partitions and return them.
struct StandbyHandoverTests {
  private let consumer = Assignments()
  private let subscriptions = Subscriptions(topic: "c", partitions: [0, 1])
  private let follower: ChangesetFollower

  init() throws {
    follower = ChangesetFollower(consumer, subscriptions, topicTimeout: .zero, log: { _, _, _ in })
    _ = try follower.step()
    #expect(consumer.take() == ["add 0 at 0, 1 at 0"])
  }

  private func follow(_ partitions: Set<Int32>) throws {
    subscriptions.ask(.follow(partitions))
    _ = try follower.step()
  }

  @Test func `a partition that was taken out and given back is read from its new position`() throws {
    let taken = try #require(subscriptions.takeOut(0))
    #expect(taken.position == 0)
    #expect(subscriptions.partitions.map(\.number) == [1])
    subscriptions.adopt(ReadPartition("c", 0, from: 5), of: 0)
    try follow([0, 1])
    #expect(consumer.take() == ["remove 0", "add 0 at 5"])
    // It can also be taken before it is read.
    _ = subscriptions.takeOut(0)
    subscriptions.adopt(ReadPartition("c", 0, from: 7), of: 0)
    #expect(subscriptions.takeOut(0)?.position == 7)
    try follow([1])
    #expect(consumer.take() == ["remove 0"])
  }

  @Test func `partitions that stay are not touched`() throws {
    try follow([1, 2])
    #expect(consumer.take() == ["remove 0", "add 2 at 0"])
    try follow([])
    #expect(consumer.take() == ["remove 1, 2"])
  }
}

/// A consumer of a topic with three partitions and nine offsets each, which records its reads.
private final class Assignments: RecordConsumer {
  private var calls: [String] = []
  let pausedPartitions: Set<TopicPartition> = []

  /// The calls since the last time.
  func take() -> [String] {
    defer { calls = [] }
    return calls
  }

  func makeBatch(capacity: Int) -> MessageBatch {
    MessageBatch(capacity: capacity, owner: ObjectIdentifier(self))
  }
  func fill(_ batch: MessageBatch, timeoutMilliseconds: Int32) {}
  func topicName(at index: Int) -> String { "c" }
  func add(_ offsets: [TopicPartitionOffset]) {
    calls.append("add " + offsets.map { "\($0.partition) at \($0.offset)" }.joined(separator: ", "))
  }
  func remove(_ partitions: [TopicPartition]) {
    calls.append("remove " + partitions.map { "\($0.partition)" }.joined(separator: ", "))
  }
  func metadata(_ topics: [String], timeoutMilliseconds: Int32) -> TopicMetadata {
    var metadata = TopicMetadata()
    metadata.partitionCounts["c"] = 3
    return metadata
  }
  func metadataByName(_ topics: [String], timeoutMilliseconds: Int32) -> TopicMetadata {
    metadata(topics, timeoutMilliseconds: timeoutMilliseconds)
  }
  func queryWatermarks(_ partition: TopicPartition, timeoutMilliseconds: Int32) -> Watermarks {
    Watermarks(low: 0, high: 9)
  }
  func knownEnd(of partition: TopicPartition) -> Int64? { nil }
  func close(timeoutMilliseconds: Int32) {}
}
