import CRdkafka

extension Consumer {
  /// librdkafka's rebalance callback: called on the consumer's thread, from within `poll` or `close`.
  ///
  /// The strategies in use are eager: everything is revoked before anything is assigned. librdkafka has
  /// paused the partitions before it calls, and with that thrown away the messages of theirs that wait.
  func rebalance(
    _ code: rd_kafka_resp_err_t,
    _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
  ) {
    guard let client = try? client("rebalance") else { return }
    let partitions = list.map { TopicPartitionList.partitions(of: $0) } ?? []
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
      if let assignmentStart, let list {
        for index in 0..<Int(list.pointee.cnt) { list.pointee.elems[index].offset = assignmentStart }
      }
      let topics = assignmentStart == nil ? [] : pauseAhead(of: partitions, client)
      let result = rd_kafka_assign(client, list)
      for topic in topics { rd_kafka_topic_destroy(topic) }
      if result == RD_KAFKA_RESP_ERR_NO_ERROR {
        onRebalance?(.assigned(partitions))
      } else {
        note(.make(KafkaErrorCode(result), "take the partitions \(partitions)", client: client))
      }
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
      onRebalance?(rd_kafka_assignment_lost(client) != 0 ? .lost(partitions) : .revoking(partitions))
      giveUpAssignment(client)
    default:
      note(.make(KafkaErrorCode(code), "rebalance the group", client: client))
      giveUpAssignment(client)
    }
    // Whoever polls shall not wait on for records when their partitions have just changed.
    rd_kafka_queue_yield(queue)
  }

  /// Pauses partitions before they are assigned: between the assignment and a pause librdkafka may ask for records at
  /// the start that stands in for the real one. A broker whose log begins later says that it is out of range, and the
  /// partition is not read, and cannot be sought, until the next assignment.
  ///
  /// librdkafka keeps a pause of a partition that it has heard of, assigned or not, and hears of it through its topic.
  ///
  /// - Returns: the topics, to be destroyed once the assignment has its own hold of them.
  private func pauseAhead(of partitions: [TopicPartition], _ client: OpaquePointer) -> [OpaquePointer] {
    let topics = Set(partitions.map(\.topic)).compactMap { rd_kafka_topic_new(client, $0, nil) }
    let left = pause(unassigned: partitions, client)
    if left.isEmpty { return topics }
    for topic in topics {
      var metadata: UnsafePointer<rd_kafka_metadata>?
      // What is not told in time is paused by the owner, as soon as it is assigned.
      if rd_kafka_metadata(client, 0, topic, &metadata, Self.metadataMilliseconds)
        == RD_KAFKA_RESP_ERR_NO_ERROR
      {
        rd_kafka_metadata_destroy(metadata)
      }
    }
    _ = pause(unassigned: left, client)
    return topics
  }

  /// - Returns: those that librdkafka has not heard of.
  private func pause(unassigned partitions: [TopicPartition], _ client: OpaquePointer) -> [TopicPartition] {
    let list = TopicPartitionList(partitions)
    guard rd_kafka_pause_partitions(client, list.pointer) == RD_KAFKA_RESP_ERR_NO_ERROR else {
      return partitions
    }
    let unknown = partitions.indices.filter {
      list.pointer.pointee.elems[$0].err != RD_KAFKA_RESP_ERR_NO_ERROR
    }
    let left = unknown.map { partitions[$0] }
    pausedPartitions.formUnion(Set(partitions).subtracting(left))
    return left
  }

  private static let metadataMilliseconds: Int32 = 1_000

  private func giveUpAssignment(_ client: OpaquePointer) {
    forgetPauses(client)
    let result = rd_kafka_assign(client, nil)
    if result != RD_KAFKA_RESP_ERR_NO_ERROR {
      note(.make(KafkaErrorCode(result), "give up the assigned partitions", client: client))
    }
  }
}
