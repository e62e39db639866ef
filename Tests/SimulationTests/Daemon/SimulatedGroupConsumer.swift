import Changesets
import Kafka
import SimulationSupport

@testable import FeedWorker

/// A simulated consumer as a worker sees it.
final class SimulatedGroupConsumer: GroupConsumer, RecordConsumer {
  private let consumer: SimulatedConsumer
  private var topics: [String] = []
  private var told: SimulatedRebalance?
  var onStatistics: ((ClientStatistics) -> Void)?

  init(_ consumer: SimulatedConsumer) { self.consumer = consumer }

  // MARK: RecordConsumer

  var pausedPartitions: Set<TopicPartition> { consumer.pausedPartitions }

  func makeBatch(capacity: Int) -> SimulatedBatch { SimulatedBatch(capacity: capacity) }

  func fill(_ batch: SimulatedBatch, timeoutMilliseconds: Int32) throws(KafkaError) {
    batch.recycle()
    let polled = try consumer.poll(most: batch.capacity, milliseconds: timeoutMilliseconds)
    if let rebalance = polled.rebalance { told = rebalance }
    batch.take(polled, topicIndex: index)
  }

  private func index(of topic: String) -> Int {
    if let index = topics.firstIndex(of: topic) { return index }
    topics.append(topic)
    return topics.count - 1
  }

  func topicName(at index: Int) -> String { topics[index] }

  func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError) { try consumer.add(offsets) }

  func remove(_ partitions: [TopicPartition]) throws(KafkaError) { try consumer.remove(partitions) }

  func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    try consumer.queryWatermarks(partition, milliseconds: timeoutMilliseconds)
  }

  // MARK: GroupConsumer

  var fetchedCount: Int { consumer.fetchedCount }

  func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata {
    try consumer.metadata(topics, milliseconds: timeoutMilliseconds)
  }

  func metadataByName(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata {
    try metadata(topics, timeoutMilliseconds: timeoutMilliseconds)
  }

  func subscribe(_ topic: String, companions: [String]) throws(KafkaError) {
    try consumer.subscribe([topic], companions: companions)
  }

  func unsubscribe() throws(KafkaError) { try consumer.unsubscribe() }

  func complete(_ rebalance: Rebalance) throws(KafkaError) {
    guard let told, Rebalance(told) == rebalance else {
      preconditionFailure("\(rebalance) is completed, and \(String(describing: told)) was told of")
    }
    self.told = nil
    try consumer.complete(told)
  }

  func pause(_ partitions: [TopicPartition]) throws(KafkaError) { try consumer.pause(partitions) }

  func resume(_ partitions: [TopicPartition]) throws(KafkaError) { try consumer.resume(partitions) }

  func seek(_ offsets: [TopicPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {
    try consumer.seek(offsets, milliseconds: timeoutMilliseconds)
  }

  func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
    try consumer.committed(partitions, milliseconds: timeoutMilliseconds)
  }

  func membership() throws(KafkaError) -> any GroupMembership { try consumer.groupMembership() }

  func knownEnd(of partition: TopicPartition) -> Int64? { consumer.knownEnd(of: partition) }

  func wakeFetcher(of partition: TopicPartition) {}

  func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    consumer.close(milliseconds: timeoutMilliseconds)
  }

  func makeInput(capacity: Int, clock: @escaping @Sendable () -> Int64) -> any PolledInput {
    KafkaBatch(self, capacity: capacity, clock: clock, wallClock: clock)
  }
}

extension SimulatedGroupConsumer: GroupProbe {
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String> {
    try consumer.groupMemberIDs(milliseconds: timeoutMilliseconds)
  }
}

extension SimulatedMembership: GroupMembership {
  var member: String? { memberID }
}
