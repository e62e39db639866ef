import Kafka
import KafkaTestSupport
import Synchronization
import Testing

/// librdkafka looks for the coordinator of a group for each consumer.
struct GroupRightTests {
  private static let topic = "numbers"

  /// Reads a partition to its end, and until the brokers have denied the group twice.
  ///
  /// - Returns: the errors that polls returned.
  private func errors(of group: String?) throws -> [KafkaError] {
    let fixture = try Fixture()
    try fixture.fill(Self.topic, partitions: 1, recordsEach: 3)
    try fixture.cluster.pushRequestErrors(
      .findCoordinator,
      Array(repeating: .groupAuthorizationFailed, count: 1_000)
    )
    let refusals = Atomic(0)
    var properties: KeyValuePairs = ["debug": "cgrp"]
    if let group { properties = ["debug": "cgrp", "group.id": group] }
    let consumer = try fixture.consumer(properties) { _, _, message in
      if message.contains("Group authorization failed") { refusals.add(1, ordering: .relaxed) }
    }
    try consumer.add([TopicPartitionOffset(TopicPartition(topic: Self.topic, partition: 0), offset: 0)])
    let batch = consumer.makeBatch(capacity: 10)
    var (records, errors) = (0, [KafkaError]())
    var isDenied = false
    while records < 3 || !isDenied {
      // The first refusal is an event before there is a second one.
      isDenied = refusals.load(ordering: .relaxed) >= 2
      records += try consumer.poll(into: batch, timeoutMilliseconds: 100)
      for case .error(let error) in batch.events { errors.append(error) }
    }
    return errors
  }

  @Test func `a consumer without a group needs no right to one`() throws {
    #expect(try errors(of: nil).isEmpty)
    #expect(try errors(of: "readers").map(\.kind) == [.groupAuthorizationFailed])
  }
}
