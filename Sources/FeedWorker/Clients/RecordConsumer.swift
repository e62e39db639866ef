import Kafka

/// A consumer as those see it who look at every record: they are generic, and made for one kind of consumer.
protocol RecordConsumer: AnyObject {
  associatedtype Batch: ConsumedBatch

  var pausedPartitions: Set<TopicPartition> { get }

  func makeBatch(capacity: Int) -> Batch
  func fill(_ batch: Batch, timeoutMilliseconds: Int32) throws(KafkaError)
  func topicName(at index: Int) -> String
  func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError)
  func remove(_ partitions: [TopicPartition]) throws(KafkaError)
  func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks
  /// The end of a partition that is read, as a broker told it last; nil before that.
  func knownEnd(of partition: TopicPartition) -> Int64?
}

/// What a poll brought; see ``Kafka/MessageBatch``.
protocol ConsumedBatch: AnyObject {
  associatedtype Record: ConsumedRecord

  var count: Int { get }
  var events: [ConsumerEvent] { get }
  var rebalance: Rebalance? { get }

  subscript(index: Int) -> Record { get }
  func recycle()
}

/// A record, valid until its batch is filled again; see ``Kafka/Message``.
protocol ConsumedRecord {
  var topicIndex: Int { get }
  var partition: Int32 { get }
  var offset: Int64 { get }
  var timestampMilliseconds: Int64 { get }
  var key: UnsafeRawBufferPointer? { get }
  var payload: UnsafeRawBufferPointer? { get }
  var size: Int { get }
}

extension Message: ConsumedRecord {}
extension MessageBatch: ConsumedBatch {}

extension Consumer: RecordConsumer {
  func fill(_ batch: MessageBatch, timeoutMilliseconds: Int32) throws(KafkaError) {
    try poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
  }
}
