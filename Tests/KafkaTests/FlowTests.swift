import Glibc
import Kafka
import KafkaTestSupport
import Synchronization
import Testing

/// Pausing, resuming and seeking assigned partitions.
struct FlowTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private let first = TopicPartition(topic: "numbers", partition: 0)
  private let second = TopicPartition(topic: "numbers", partition: 1)

  @Test func `pause and resume affect only partitions paused by the consumer, and lose nothing`() throws {
    try fixture.fill("numbers", partitions: 2, recordsEach: 100)

    let consumer = try fixture.consumer()
    let collector = Collector(consumer, maxMessages: 10)
    try consumer.assign([.init(first, offset: 0), .init(second, offset: 0)])
    try collector.poll(until: { collector.values(0).count >= 10 }, "the first records come")
    try consumer.pause([first])
    #expect(consumer.pausedPartitions == [first])
    // Pausing twice counts once; a partition that is not paused is not resumed.
    try consumer.pause([first])
    try consumer.resume([second])
    #expect(consumer.pausedPartitions == [first])

    let seen = collector.values(0).count
    try #require(seen < 100)
    try collector.poll(until: { collector.ends[1] == 100 }, "the partition that goes on comes to its end")
    #expect(collector.values(0).count == seen, "nothing of a paused partition is handed out")

    try consumer.resume([first, second])
    #expect(consumer.pausedPartitions.isEmpty)
    try collector.poll(until: { collector.ends[0] == 100 }, "the resumed partition comes to its end")
    #expect(collector.values(0) == (0..<100).map { String($0) })
    #expect(collector.values(1) == (0..<100).map { String($0) })

    let error = #expect(throws: KafkaError.self) {
      try consumer.pause([TopicPartition(topic: "numbers", partition: 9)])
    }
    #expect(error?.message.contains("numbers [9]") == true)
    #expect(consumer.pausedPartitions.isEmpty)
  }

  @Test func `partitions paused before their first record start at the right one`() throws {
    try fixture.fill("numbers", partitions: 2, recordsEach: 20)

    let consumer = try fixture.consumer()
    let collector = Collector(consumer)
    try consumer.assign([
      .init(first, offset: 5),
      .init(second, offset: TopicPartitionOffset.beginning),
    ])
    try consumer.pause([first, second])
    try collector.pollOnce()
    #expect(collector.records.isEmpty)
    try consumer.resume([first, second])
    try collector.poll(until: { collector.ends == [0: 20, 1: 20] }, "both partitions end")
    #expect(collector.values(0) == (5..<20).map { String($0) })
    #expect(collector.values(1) == (0..<20).map { String($0) })

    // A new assignment starts without pauses.
    try consumer.pause([first])
    try consumer.assign([.init(first, offset: 19)])
    #expect(consumer.pausedPartitions.isEmpty)
    collector.events = []
    collector.records = []
    try collector.poll(until: { collector.ends[0] == 20 }, "the partition is read again")
    #expect(collector.values(0) == ["19"])
    #expect(try consumer.assignment() == [first])
  }

  @Test func `seek continues at the offset`() throws {
    try fixture.fill("numbers", partitions: 1, recordsEach: 30)

    let consumer = try fixture.consumer()
    let collector = Collector(consumer)
    try consumer.assign([.init(first, offset: 0)])
    try collector.poll(until: { collector.ends[0] == 30 }, "the partition ends")
    collector.events = []
    collector.records = []
    try consumer.seek([.init(first, offset: 27)], timeoutMilliseconds: 120_000)
    try collector.poll(until: { collector.ends[0] == 30 }, "the partition ends again")
    #expect(collector.values(0) == ["27", "28", "29"])
  }

  @Test func `seek waits for the given time`() throws {
    try fixture.fill("numbers", partitions: 1, recordsEach: 30)
    // Blocks the responding thread for more than a thousandth of the timeout.
    let heldUp = Mutex(0)
    let consumer = try fixture.consumer(["debug": "topic"]) { _, facility, message in
      guard facility == "FETCH", message.contains("Seek numbers") else { return }
      heldUp.withLock { $0 += 1 }
      usleep(100_000)
    }
    let collector = Collector(consumer)
    try consumer.assign([.init(first, offset: 0)])
    try collector.poll(until: { collector.ends[0] == 30 }, "the partition ends")
    try consumer.seek([.init(first, offset: 27)], timeoutMilliseconds: 60_000)
    #expect(heldUp.withLock { $0 } > 0)
  }
}
