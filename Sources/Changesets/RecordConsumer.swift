package import Kafka

/// The part of a consumer that every reader of records needs. The daemon's is ``Kafka/Consumer``; the simulation has another.
package protocol RecordConsumer: AnyObject {
  var pausedPartitions: Set<TopicPartition> { get }

  func makeBatch(capacity: Int) -> MessageBatch
  func fill(_ batch: MessageBatch, timeoutMilliseconds: Int32) throws(KafkaError)
  func topicName(at index: Int) -> String
  func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError)
  func remove(_ partitions: [TopicPartition]) throws(KafkaError)
  func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata
  /// `metadata` for regular checks: requests only these topics in a cluster of any size.
  func metadataByName(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata
  func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks
  /// The end of a partition, as a broker last reported it; nil before that.
  func knownEnd(of partition: TopicPartition) -> Int64?
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

extension Consumer: RecordConsumer {
  package func fill(_ batch: MessageBatch, timeoutMilliseconds: Int32) throws(KafkaError) {
    try poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
  }
}
