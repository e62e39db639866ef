import Changesets
import FeedKafka
import Kafka

/// Follows partitions of the changesets topic with a client that belongs to no group and reads what is committed.
final class StandbyReader<Client: RecordConsumer>: FollowedChangesets {
  private let topic: String
  private let client: Client
  private let batch: Client.Batch

  /// Records of one reading; few enough that reloads' parts, of nearly a megabyte each, are not hoarded.
  private static var batchCapacity: Int { 100 }

  init(topic: String, client: Client) {
    self.topic = topic
    self.client = client
    batch = client.makeBatch(capacity: Self.batchCapacity)
  }

  private func target(_ number: Int32) -> TopicPartition { TopicPartition(topic: topic, partition: number) }

  func add(_ positions: [Int32: Int64]) throws(KafkaError) {
    if positions.isEmpty { return }
    try client.add(
      positions.sorted { $0.key < $1.key }.map { TopicPartitionOffset(target($0.key), offset: $0.value) }
    )
  }

  func remove(_ partitions: Set<Int32>) throws(KafkaError) {
    if partitions.isEmpty { return }
    try client.remove(partitions.sorted().map(target))
  }

  func knownEnd(of partition: Int32) -> Int64? { client.knownEnd(of: target(partition)) }

  func read(into standby: Standby, timeoutMilliseconds: Int32) throws(KafkaError) {
    try client.fill(batch, timeoutMilliseconds: timeoutMilliseconds)
    for index in 0..<batch.count { standby.take(batch[index]) }
    var failure: KafkaError?
    for event in batch.events {
      switch event {
      case .endOfPartition(_, let partition, let offset): standby.noteEnd(of: partition, at: offset)
      case .error(let error): if !error.isRetriable, failure == nil { failure = error }
      }
    }
    if batch.count == 0, batch.events.isEmpty { standby.noteIdle() }
    if let failure { throw failure }
  }
}
