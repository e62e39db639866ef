package import Changesets
package import Kafka

/// A worker's consumer: a member of the group, which reads input.
///
/// The daemon's is ``Kafka/Consumer``; the simulation has another. A worker calls it once for a poll or a step, not for a
/// record.
package protocol GroupConsumer: RecordConsumer {
  var onStatistics: ((ClientStatistics) -> Void)? { get set }
  /// Records that were fetched and wait for a poll.
  var fetchedCount: Int { get }

  func subscribe(_ topics: [String], companions: [String]) throws(KafkaError)
  func unsubscribe() throws(KafkaError)
  func complete(_ rebalance: Rebalance) throws(KafkaError)
  func pause(_ partitions: [TopicPartition]) throws(KafkaError)
  func resume(_ partitions: [TopicPartition]) throws(KafkaError)
  func seek(_ offsets: [TopicPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError)
  func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset]
  /// Which member of which generation it is, for ``TransactionClient/sendOffsets(_:_:timeoutMilliseconds:)`` of the same kind
  /// of clients.
  func membership() throws(KafkaError) -> any GroupMembership
  func wakeFetcher(of partition: TopicPartition)
}

/// What a transaction names when it commits offsets; see ``GroupConsumer/membership()``.
package protocol GroupMembership: AnyObject {
  /// The member's id; nil if it is not known.
  var member: String? { get }
}

extension ConsumerGroupMetadata: GroupMembership {
  package var member: String? { memberID }
}

extension Consumer: GroupConsumer {
  package func pause(_ partitions: [TopicPartition]) throws(KafkaError) { try pause(partitions[...]) }
  package func resume(_ partitions: [TopicPartition]) throws(KafkaError) { try resume(partitions[...]) }
  package func membership() throws(KafkaError) -> any GroupMembership { try groupMetadata() }
  package func wakeFetcher(of partition: TopicPartition) { wakeFetcher(of: CollectionOfOne(partition)) }
}
