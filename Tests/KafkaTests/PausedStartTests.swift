import Kafka
import KafkaTestSupport
import Testing

/// Assigned partitions that must not be read before their owner knows where to start.
struct PausedStartTests {
  private static let topic = "numbers"

  /// Fills a partition until the broker, which keeps 5 MiB of it, has dropped its first records.
  private func fillBeyondRetention(_ fixture: Fixture) throws {
    try fixture.cluster.createTopic(Self.topic, partitions: 1)
    let producer = try fixture.producer()
    let value = String(repeating: "x", count: 300_000)
    for _ in 0..<40 { try producer.produce(Self.topic, 0, [value]) }
    try producer.flush(timeoutMilliseconds: 120_000)
  }

  @Test func `input that no longer begins at 0 is not lost`() throws {
    let fixture = try Fixture()
    try fillBeyondRetention(fixture)
    let partition = TopicPartition(topic: Self.topic, partition: 0)

    let consumer = try fixture.consumer(["group.id": "readers", "auto.offset.reset": "error"])
    consumer.assignmentStart = Consumer.startWithoutQuery
    try consumer.subscribe(Self.topic)
    let batch = consumer.makeBatch(capacity: 100)
    var assigned: [TopicPartition] = []
    while assigned.isEmpty {
      try consumer.poll(into: batch, timeoutMilliseconds: 100)
      guard let rebalance = batch.rebalance else { continue }
      try consumer.complete(rebalance)
      assigned = rebalance.partitions
    }
    var first: Int64 = 0
    // Long enough for a response, if there was a fetch.
    for _ in 0..<20 {
      first = try consumer.queryWatermarks(partition, timeoutMilliseconds: 120_000).low
    }
    #expect(assigned == [partition])
    #expect(consumer.pausedPartitions == [partition])
    #expect(first > 0)

    // As at the end of a restore.
    try consumer.seek([TopicPartitionOffset(partition, offset: first)], timeoutMilliseconds: 120_000)
    try consumer.resume([partition])
    var offsets: [Int64] = []
    while offsets.last != 39 {
      try consumer.poll(into: batch, timeoutMilliseconds: 100)
      let errors = batch.events.filter { if case .error = $0 { true } else { false } }
      try #require(errors.isEmpty, "\(errors)")
      for index in 0..<batch.count { offsets.append(batch[index].offset) }
    }
    #expect(offsets == Array(first...39))
  }
}
