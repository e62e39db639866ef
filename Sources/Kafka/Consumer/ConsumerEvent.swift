/// What a poll returns besides records.
public enum ConsumerEvent: Sendable, Hashable {
  /// The partition has been read to its current end.
  ///
  /// `topic` is the topic's index (`Consumer.topicName(at:)`); `offset` is that of the next record. The event follows
  /// the partition's records, occurs also without any, and occurs again after later records.
  case endOfPartition(topic: Int, partition: Int32, offset: Int64)

  /// An error of the client, a topic or a partition.
  ///
  /// librdkafka retries after retriable errors by itself. Other errors require an operator.
  case error(KafkaError)
}
