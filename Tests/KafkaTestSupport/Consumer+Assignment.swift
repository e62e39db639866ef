import CRdkafka

@testable public import Kafka

/// Operations of a consumer that only tests need.
extension Consumer {
  /// Reads exactly these partitions from these offsets, without a group. Replaces the previous assignment.
  ///
  /// Do not combine with `subscribe`. `offset` may be `TopicPartitionOffset.beginning` or `end`.
  public func assign(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    let client = try client("assign \(offsets)")
    forgetPauses(client)
    let list = TopicPartitionList(offsets)
    try KafkaError.check(rd_kafka_assign(client, list.pointer), client: client, "assign \(offsets)")
  }

  /// Resumes all paused partitions, because librdkafka would carry a pause over into the next assignment.
  func forgetPauses(_ client: OpaquePointer) {
    forgetPauses(of: pausedPartitions, client)
    withheld = [:]
  }

  /// Commits offsets for the group, outside of any transaction, and waits for the response.
  ///
  /// For tools and tests; the daemon commits through `TransactionalProducer.sendOffsets`.
  ///
  /// - Parameter offsets: for each partition, the offset of the next record to read.
  public func commit(_ offsets: [TopicPartition: CommittedOffset]) throws(KafkaError) {
    let action = "commit \(offsets.text)"
    let client = try groupClient(action)
    let list = TopicPartitionList(offsets)
    try KafkaError.check(rd_kafka_commit(client, list.pointer, 0), client: client, action)
    try list.check("commit the offset")
  }

  /// Joins the group named by `group.id`, and shares a topic with the other members.
  public func subscribe(_ topic: String, companions: [String] = []) throws(KafkaError) {
    try subscribe([topic], companions: companions)
  }
}
