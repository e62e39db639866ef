/// What a poll brings besides records.
public enum ConsumerEvent: Sendable, Hashable {
  /// The partition has been read to its end, for now.
  ///
  /// `topic` is the topic's number (`Consumer.topicName(at:)`); `offset` is that of the next record to come.
  /// It comes after the partition's records, also where there are none, and again after later records.
  case endOfPartition(topic: Int, partition: Int32, offset: Int64)

  /// Something is wrong with the client, a topic or a partition.
  ///
  /// Retriable errors are news: librdkafka goes on trying by itself. Others need somebody.
  case error(KafkaError)
}
