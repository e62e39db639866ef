package import Kafka

/// A consumer as code sees it that looks at every record: such code is generic, and compiled for one kind of consumer.
package protocol RecordConsumer: AnyObject {
  associatedtype Batch: ConsumedBatch

  var pausedPartitions: Set<TopicPartition> { get }

  func makeBatch(capacity: Int) -> Batch
  func fill(_ batch: Batch, timeoutMilliseconds: Int32) throws(KafkaError)
  func topicName(at index: Int) -> String
  func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError)
  func remove(_ partitions: [TopicPartition]) throws(KafkaError)
  func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata
  /// The same for regular checks: it requests only these topics, whatever else the cluster has.
  func metadataByName(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata
  func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks
  /// The end of a partition that is read, as a broker last reported it; nil before that.
  func knownEnd(of partition: TopicPartition) -> Int64?
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

/// The result of a poll; see ``Kafka/MessageBatch``.
package protocol ConsumedBatch: AnyObject {
  associatedtype Record: ConsumedRecord

  var count: Int { get }
  var events: [ConsumerEvent] { get }
  var rebalance: Rebalance? { get }

  subscript(index: Int) -> Record { get }
  func recycle()
}

/// A record, valid until its batch is filled again; see ``Kafka/Message``.
package protocol ConsumedRecord {
  var topicIndex: Int { get }
  var partition: Int32 { get }
  var offset: Int64 { get }
  var timestampMilliseconds: Int64 { get }
  var key: UnsafeRawBufferPointer? { get }
  var payload: UnsafeRawBufferPointer? { get }
  var size: Int { get }
  /// The value of the last header with this name; nil if there is none, or its value is null.
  func header(_ name: StaticString) -> UnsafeRawBufferPointer?
}

extension Message: ConsumedRecord {}
extension MessageBatch: ConsumedBatch {}

extension Consumer: RecordConsumer {
  package func fill(_ batch: MessageBatch, timeoutMilliseconds: Int32) throws(KafkaError) {
    try poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
  }
}
