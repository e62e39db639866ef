import CRdkafka

/// Incremental rebalances, in which partitions that stay are not touched.
///
/// librdkafka lets an application return from its callback without having changed the assignment, and do so later: the
/// member stays in the group by its heartbeats. It has paused all partitions before the callback, and resumes them with the
/// change.
extension Consumer {
  /// librdkafka's rebalance callback: called on the consumer's thread, from within `poll` or `close`.
  func rebalance(
    _ code: rd_kafka_resp_err_t,
    _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
  ) {
    guard let client = try? client("rebalance") else { return }
    let partitions = withCompanions(list.map { TopicPartitionList.partitions(of: $0) } ?? [])
    // Whoever polls shall not wait on for records.
    defer { rd_kafka_queue_yield(queue) }
    let rebalance: Rebalance
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
      hasBeenAssigned = true
      rebalance = Rebalance(.assigned, partitions)
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
      rebalance = Rebalance(rd_kafka_assignment_lost(client) != 0 ? .lost : .revoking, partitions)
    default:
      note(.make(KafkaErrorCode(code), "rebalance the group", client: client))
      rebalance = Rebalance(.lost, partitions)
    }
    if isClosing {
      do throws(KafkaError) { try perform(rebalance, client) } catch { note(error) }
      return
    }
    let id = rd_kafka_memberid(client).map { text in
      defer { rd_kafka_mem_free(client, text) }
      return String(cString: text)
    }
    if held.isEmpty {
      memberID = id
    } else if rebalance.kind != .lost, id != memberID {
      pendingRebalance = Rebalance(.lost, Array(held), needsNewConsumer: true)
      return
    }
    pendingRebalance = rebalance
  }

  /// Does what a rebalance is about: partitions that were assigned can be sought and read from here on; of those that
  /// were revoked or lost nothing is handed out any more.
  ///
  /// - Parameter rebalance: the last that a poll has brought.
  /// - Throws: an error that names the partitions, after which the consumer is of no use.
  public func complete(_ rebalance: Rebalance) throws(KafkaError) {
    let client = try client("complete a rebalance")
    precondition(rebalance == pendingRebalance, "\(rebalance) is completed already")
    precondition(!rebalance.needsNewConsumer, "a rebalance that needs a new consumer is completed")
    pendingRebalance = nil
    try perform(rebalance, client)
  }

  private func perform(_ rebalance: Rebalance, _ client: OpaquePointer) throws(KafkaError) {
    switch rebalance.kind {
    case .assigned: try take(rebalance.partitions, client)
    case .revoking, .lost: try giveUp(rebalance.partitions.filter { held.contains($0) }, client)
    }
  }

  /// The group shares out one topic; whoever has a partition of it has those of the same number of its companions.
  private func withCompanions(_ partitions: [TopicPartition]) -> [TopicPartition] {
    partitions
      + companions.flatMap { topic in
        partitions.map { TopicPartition(topic: topic, partition: $0.partition) }
      }
  }

  private func take(_ partitions: [TopicPartition], _ client: OpaquePointer) throws(KafkaError) {
    let start = assignmentStart ?? Int64(RD_KAFKA_OFFSET_INVALID)
    let list = TopicPartitionList(partitions.map { TopicPartitionOffset($0, offset: start) })
    let topics = assignmentStart == nil ? [] : pauseAhead(of: partitions, client)
    defer { for topic in topics { rd_kafka_topic_destroy(topic) } }
    if let error = rd_kafka_incremental_assign(client, list.pointer) {
      throw .make(taking: error, "take the partitions \(partitions)")
    }
    held.formUnion(partitions)
  }

  private func giveUp(_ partitions: [TopicPartition], _ client: OpaquePointer) throws(KafkaError) {
    forgetPauses(of: pausedPartitions.intersection(partitions), client)
    let list = TopicPartitionList(partitions)
    held.subtract(partitions)
    if let error = rd_kafka_incremental_unassign(client, list.pointer) {
      throw .make(taking: error, "give up the partitions \(partitions)")
    }
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
}
