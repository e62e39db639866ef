import KafkaTestSupport
import Testing

@testable import Kafka

struct WatermarkTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  @Test(arguments: 1...3)
  func `an end offset that is requested again is not confused with the first offset`(failures: Int) throws {
    try fixture.fill("ends", partitions: 1, recordsEach: 5)
    let partition = TopicPartition(topic: "ends", partition: 0)
    let consumer = try fixture.consumer()
    for _ in 0..<20 {
      try fixture.cluster.pushRequestErrors(
        .listOffsets,
        Array(repeating: .notLeader, count: failures)
      )
      do throws(KafkaError) {
        let ends = try consumer.queryWatermarks(partition, timeoutMilliseconds: 120_000)
        #expect(ends == Watermarks(low: 0, high: 5))
      } catch {
        #expect(error.isRetriable)
      }
      try fixture.cluster.clearRequestErrors(.listOffsets)
    }
  }

  @Test func `a partition without a leader is queried until it has one`() throws {
    try fixture.fill("ends", partitions: 2, recordsEach: 5)
    let partition = TopicPartition(topic: "ends", partition: 1)
    let consumer = try fixture.consumer()
    try fixture.cluster.setLeader(partition, broker: nil)
    let error = #expect(throws: KafkaError.self) {
      try consumer.queryWatermarks(partition, timeoutMilliseconds: 120_000)
    }
    #expect(error?.kind == .leaderNotAvailable)
    #expect(error?.isRetriable == true)
    try fixture.cluster.setLeader(partition, broker: 1)
    #expect(try askAgain(consumer, partition) == Watermarks(low: 0, high: 5))
  }

  @Test func `a topic that a broker has not heard of is found once it has`() throws {
    try fixture.fill("ends", partitions: 1, recordsEach: 5)
    let partition = TopicPartition(topic: "ends", partition: 0)
    let consumer = try fixture.consumer()
    try fixture.cluster.setTopicError("ends", .unknownTopicOrPartition)
    let error = #expect(throws: KafkaError.self) {
      try consumer.queryWatermarks(partition, timeoutMilliseconds: 120_000)
    }
    #expect(error?.kind == .unknownTopicOrPartition)
    try fixture.cluster.setTopicError("ends", nil)
    // Fails with librdkafka's cached metadata, which it then requests.
    _ = try? consumer.queryWatermarks(partition, timeoutMilliseconds: 120_000)
    let ends = try consumer.queryWatermarks(partition, timeoutMilliseconds: 120_000)
    #expect(ends == Watermarks(low: 0, high: 5))
  }

  @Test func `a missing partition is not a transient error`() throws {
    try fixture.fill("ends", partitions: 2, recordsEach: 5)
    let consumer = try fixture.consumer()
    let error = #expect(throws: KafkaError.self) {
      try consumer.queryWatermarks(.init(topic: "ends", partition: 2), timeoutMilliseconds: 120_000)
    }
    #expect(error?.kind == .unknownPartition)
    #expect(error?.isRetriable == false)
  }

  @Test(arguments: [false, true])
  func `a new leader is found, without waiting for the old one`(isKnown: Bool) throws {
    let fixture = try Fixture(brokerCount: 2)
    try fixture.fill("ends", partitions: 1, recordsEach: 5)
    let partition = TopicPartition(topic: "ends", partition: 0)
    try fixture.cluster.setLeader(partition, broker: 2)
    let consumer = try fixture.consumer()
    if isKnown { #expect(try askAgain(consumer, partition).high == 5) }
    try fixture.cluster.setBrokerDown(2)
    let error = #expect(throws: KafkaError.self) {
      try consumer.queryWatermarks(partition, timeoutMilliseconds: 500)
    }
    #expect(error?.isRetriable == true)
    try fixture.cluster.setLeader(partition, broker: 1)
    #expect(try askAgain(consumer, partition) == Watermarks(low: 0, high: 5))
  }

  /// Repeats the request until there is a response. The limit of five minutes only ends a broken test.
  private func askAgain(_ consumer: Consumer, _ partition: TopicPartition) throws -> Watermarks {
    let giveUp = ContinuousClock.now + .seconds(300)
    while true {
      do {
        return try consumer.queryWatermarks(partition, timeoutMilliseconds: 5_000)
      } catch {
        guard error.isRetriable, ContinuousClock.now < giveUp else { throw error }
      }
    }
  }
}
