import FeedStore
import Kafka

/// What a poll of the group's consumer brought; see ``KafkaBatch``.
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
  /// Drops what is left of partitions that are somebody else's now.
  func drop(_ partitions: Set<Int32>)
  /// Drops what is left, to be read again.
  func discard()
}
