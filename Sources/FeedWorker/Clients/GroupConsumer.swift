import FeedStore
import Kafka

/// A worker's consumer: a member of the group, which reads input.
///
/// The daemon's is ``Kafka/Consumer``; the simulation has another. A worker calls it once for a poll or a step, not for a
/// record.
protocol GroupConsumer: AnyObject {
  var onStatistics: ((ClientStatistics) -> Void)? { get set }
  /// Records that were fetched and wait for a poll.
  var fetchedCount: Int { get }

  func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata
  func subscribe(_ topic: String, companions: [String]) throws(KafkaError)
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
  func knownEnd(of partition: TopicPartition) -> Int64?
  func wakeFetcher(of partition: TopicPartition)
  func topicName(at index: Int) -> String
  func close(timeoutMilliseconds: Int32) throws(KafkaError)

  /// Makes a batch for this consumer to poll into.
  func makeInput(capacity: Int, clock: @escaping @Sendable () -> Int64) -> any PolledInput
}

/// What a transaction names when it commits offsets; see ``GroupConsumer/membership()``.
protocol GroupMembership: AnyObject {
  /// The member's id; nil if it is not known.
  var member: String? { get }
}

extension ConsumerGroupMetadata: GroupMembership {
  var member: String? { memberID }
}

extension Consumer: GroupConsumer {
  func pause(_ partitions: [TopicPartition]) throws(KafkaError) { try pause(partitions[...]) }
  func resume(_ partitions: [TopicPartition]) throws(KafkaError) { try resume(partitions[...]) }
  func membership() throws(KafkaError) -> any GroupMembership { try groupMetadata() }
  func wakeFetcher(of partition: TopicPartition) { wakeFetcher(of: CollectionOfOne(partition)) }

  func makeInput(capacity: Int, clock: @escaping @Sendable () -> Int64) -> any PolledInput {
    KafkaBatch(self, capacity: capacity, clock: clock)
  }
}

/// The result of a poll of the group's consumer; see ``KafkaBatch``.
protocol PolledInput: InputBatch {
  /// Records that the last poll brought.
  var count: Int { get }
  var isEmpty: Bool { get }
  /// Errors and ends of partitions that the last poll brought.
  var events: [ConsumerEvent] { get }
  /// The rebalance that the last poll brought.
  var rebalance: Rebalance? { get }
  /// Where the last poll has read partitions to their ends, once its records are taken.
  var ends: [TopicPartitionOffset] { get }
  /// Whether records are left of the last poll that were not taken.
  var isUnfinished: Bool { get }
  /// What was taken of it, and of batches before, since the last commit.
  var taken: TakenInput { get set }

  /// Fills it again. What it held must have been taken.
  func poll(timeoutMilliseconds: Int32) throws(KafkaError)
  /// The records that the last poll brought, by partition.
  var spans: [InputSpan] { get }
  /// Begins a slice: from this time on no record is handed out but the first.
  func beginSlice(until end: Int64)
  /// Drops what is left of partitions that were given up.
  func drop(_ partitions: Set<Int32>)
  /// Drops what is left, to be read again.
  func discard()
}
