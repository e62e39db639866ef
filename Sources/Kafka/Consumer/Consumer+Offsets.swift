import CRdkafka

extension Consumer {
  /// The group's committed offsets of these partitions; partitions without one are left out.
  ///
  /// For a `readCommitted` consumer, the broker answers only when no transaction with offsets of these partitions is
  /// open; until then this call waits.
  ///
  /// - Throws: `_TIMED_OUT`; `_UNKNOWN_GROUP` without `group.id`; an error with the partition.
  public func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
    let action = "read the committed offsets"
    let client = try groupClient(action)
    if partitions.isEmpty {
      return [:]
    }
    let list = TopicPartitionList(partitions)
    let code = rd_kafka_committed(client, list.pointer, timeoutMilliseconds)
    try KafkaError.check(code, client: client, "\(action) of \(partitions)")
    return try list.committed(action)
  }

  /// The members of this consumer's group, whether it is one of them or not.
  ///
  /// - Throws: `_UNKNOWN_GROUP` without `group.id`; an error with the group's name if no broker answers.
  public func groupMembers(timeoutMilliseconds: Int32) throws(KafkaError) -> [GroupMember] {
    let client = try groupClient("list the group's members")
    return try GroupListing(client, of: groupID ?? "", timeoutMilliseconds: timeoutMilliseconds).members()
  }

  /// The offset after the last delivered record of each partition; nil before the first.
  ///
  /// It moves when a poll delivers records, not when they are processed.
  public func position(_ partitions: [TopicPartition]) throws(KafkaError) -> [TopicPartition: Int64?] {
    let action = "read the position"
    let client = try client(action)
    let list = TopicPartitionList(partitions)
    try KafkaError.check(rd_kafka_position(client, list.pointer), client: client, action)
    return try list.offsets(action)
  }

  /// The end of a partition, as of the last fetch response; nil if there was none. Sends no request.
  ///
  /// Even for a `readCommitted` consumer this is the high watermark, which includes open transactions.
  public func knownEnd(of partition: TopicPartition) -> Int64? {
    guard let client = try? client("read the known end of \(partition)") else { return nil }
    var low: Int64 = 0
    var high: Int64 = 0
    let code = rd_kafka_get_watermark_offsets(client, partition.topic, partition.partition, &low, &high)
    return code == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : nil
  }

  /// The number of fetched records that wait for a poll.
  public var fetchedCount: Int {
    (try? client("count what was fetched")) == nil ? 0 : Int(rd_kafka_queue_length(queue))
  }

  /// Makes librdkafka check at once whether it can fetch more of these partitions.
  ///
  /// In librdkafka 2.0.2, a broker thread that finds the queue full, or a partition paused, checks again after a
  /// second, or when it has other work. This call gives it a request whose response is ignored.
  public func wakeFetcher(of partitions: some Sequence<TopicPartition>) {
    guard let client = try? client("fetch more") else { return }
    let list = TopicPartitionList(
      partitions.map { TopicPartitionOffset($0, offset: TopicPartitionOffset.end) }
    )
    _ = rd_kafka_offsets_for_times(client, list.pointer, 1)
  }

  /// Requests the first and the end offset of a partition from its leader.
  ///
  /// After a retriable failure, it also requests the current leader, which may take as long again.
  ///
  /// - Throws: `_TIMED_OUT`, `LEADER_NOT_AVAILABLE`, `_UNKNOWN_PARTITION` and other errors, with the partition.
  public func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    // Not `rd_kafka_query_watermark_offsets`, which requests both at once: if librdkafka 2.0.2 has to retry one of the
    // requests, it uses the other one's result for both.
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    do throws(KafkaError) {
      return Watermarks(
        low: try queryOffset(TopicPartitionOffset.beginning, of: partition, deadline),
        high: try queryOffset(TopicPartitionOffset.end, of: partition, deadline)
      )
    } catch {
      // librdkafka 2.0.2 keeps asking the leader from its first metadata, even if there was none, for
      // `topic.metadata.refresh.interval.ms`, by default five minutes.
      if error.isRetriable { _ = try? metadata([partition.topic], timeoutMilliseconds: timeoutMilliseconds) }
      throw error
    }
  }

  /// - Parameter place: `TopicPartitionOffset.beginning` or `end`, which are passed as special timestamps.
  private func queryOffset(
    _ place: Int64,
    of partition: TopicPartition,
    _ deadline: Deadline
  ) throws(KafkaError) -> Int64 {
    let action = "read the watermarks of \(partition)"
    let client = try client(action)
    let list = TopicPartitionList([TopicPartitionOffset(partition, offset: place)])
    let code = rd_kafka_offsets_for_times(client, list.pointer, max(1, deadline.remainingMilliseconds))
    // Also returned for a partition without a leader; the partition's entry has the actual error.
    if KafkaErrorCode(code) == .unknownPartition { try list.check(action) }
    try KafkaError.check(code, client: client, action)
    guard let offset = try list.offsets(action)[partition] ?? nil else {
      throw .make(.timedOut, action, detail: "the broker returned no offset")
    }
    return offset
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

  /// The consumer's group membership, for `TransactionalProducer.sendOffsets`.
  ///
  /// - Throws: `_UNKNOWN_GROUP` without `group.id`; `UNKNOWN_MEMBER_ID` if the group has removed the member since it
  ///   was assigned its partitions, even if it has rejoined.
  public func groupMetadata() throws(KafkaError) -> ConsumerGroupMetadata {
    let action = "read the group's metadata"
    let client = try groupClient(action)
    guard let pointer = rd_kafka_consumer_group_metadata(client) else {
      throw .make(KafkaErrorCode(RD_KAFKA_RESP_ERR__UNKNOWN_GROUP), action)
    }
    let metadata = ConsumerGroupMetadata(taking: pointer)
    guard let memberID, !held.isEmpty, let membership = metadata.membership else { return metadata }
    guard membership.generation >= 0, membership.memberID == memberID else {
      throw .make(.unknownMember, action, detail: "the group has put this member out")
    }
    return metadata
  }
}
