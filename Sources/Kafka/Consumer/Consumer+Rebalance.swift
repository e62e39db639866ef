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
      let result = rd_kafka_assign(client, list)
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

  private func giveUpAssignment(_ client: OpaquePointer) {
    forgetPauses(client)
    let result = rd_kafka_assign(client, nil)
    if result != RD_KAFKA_RESP_ERR_NO_ERROR {
      note(.make(KafkaErrorCode(result), "give up the assigned partitions", client: client))
    }
  }
}
