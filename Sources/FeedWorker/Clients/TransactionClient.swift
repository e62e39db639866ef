import FeedStore
package import Kafka

/// The producer by which a worker publishes.
///
/// The daemon's is ``Kafka/TransactionalProducer``; the simulation has another. Records are queued a part at a time
/// (``queue(_:by:)``), with one dynamic call a part and none a record.
protocol TransactionClient: AnyObject {
  var onStatistics: ((ClientStatistics) -> Void)? { get set }

  func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError)
  func begin() throws(KafkaError)
  /// Queues what is left of a part.
  func queue(_ part: borrowing Publication, by writer: inout PublicationWriter) throws(KafkaError)
  func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: any GroupMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError)
  func flush(timeoutMilliseconds: Int32) throws(KafkaError)
  /// The offset after the last record that a broker has reported as written to a partition; nil before the first.
  func deliveredEnd(of partition: TopicPartition) -> Int64?
  func commit(timeoutMilliseconds: Int32) throws(KafkaError)
  func abort(timeoutMilliseconds: Int32) throws(KafkaError)
  /// - Returns: whether there are delivery errors to take.
  @discardableResult
  func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool
  func takeDeliveryErrors() -> DeliveryErrors
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

/// Takes the records that a ``PublicationWriter`` writes.
protocol RecordProducer {
  func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList,
    timestampMilliseconds: Int64
  ) throws(KafkaError)
}

extension TransactionalProducer: RecordProducer, TransactionClient {
  func queue(_ part: borrowing Publication, by writer: inout PublicationWriter) throws(KafkaError) {
    try writer.write(part, to: self)
  }

  package func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: any GroupMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    guard let group = membership as? ConsumerGroupMetadata else {
      preconditionFailure("offsets of a consumer of another kind")
    }
    try sendOffsets(offsets, group, timeoutMilliseconds: timeoutMilliseconds)
  }
}
