import Testing

@testable import Kafka

struct WatermarkTests {
  @Test(arguments: 1...3)
  func `an end that is asked for again is not taken for the beginning`(failures: Int) throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    try fixture.fill("ends", partitions: 1, recordsEach: 5)
    let partition = TopicPartition(topic: "ends", partition: 0)
    let consumer = try fixture.consumer()
    for _ in 0..<20 {
      try fixture.cluster.pushRequestErrors(
        .listOffsets,
        Array(repeating: .notLeader, count: failures)
      )
      do throws(KafkaError) {
        let ends = try consumer.queryWatermarks(partition, timeoutMilliseconds: 10_000)
        #expect(ends == Watermarks(low: 0, high: 5))
      } catch {
        #expect(error.isRetriable)
      }
      try fixture.cluster.clearRequestErrors(.listOffsets)
    }
    try consumer.close(timeoutMilliseconds: 10_000)
  }
}
