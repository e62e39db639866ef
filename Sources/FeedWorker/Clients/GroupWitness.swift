import Kafka

/// What a worker asks of its group that it cannot ask as a member.
protocol GroupWitness: AnyObject {
  /// The offsets that are committed, whatever transactions that are open say of them.
  func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset]
  /// The ids of the members that the group has.
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String>
  func close(timeoutMilliseconds: Int32) throws(KafkaError)
}

extension Consumer: GroupWitness {
  func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String> {
    Set(try groupMembers(timeoutMilliseconds: timeoutMilliseconds).map(\.memberID))
  }
}
