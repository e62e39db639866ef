import CRdkafka

extension Consumer {
  /// What the group has committed for these partitions, of those where it has.
  ///
  /// For a `readCommitted` consumer the broker answers only when no transaction with offsets of the
  /// partitions is open; until then this waits.
  ///
  /// - Throws: `_TIMED_OUT`; `_UNKNOWN_GROUP` without `group.id`; an error naming the partition.
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

  /// The offset after the last record handed out of each partition, nil before the first.
  ///
  /// It moves when a poll takes records, not when they are worked on: what has been worked on, the owner
  /// knows.
  public func position(_ partitions: [TopicPartition]) throws(KafkaError) -> [TopicPartition: Int64?] {
    let action = "read the position"
    let client = try client(action)
    let list = TopicPartitionList(partitions)
    try KafkaError.check(rd_kafka_position(client, list.pointer), client: client, action)
    return try list.offsets(action)
  }

  /// The end of a partition that is read, as the broker's last answer told it; nil if none has. It asks nobody.
  ///
  /// For a `readCommitted` consumer it is the high watermark as well, open transactions included.
  public func knownEnd(of partition: TopicPartition) -> Int64? {
    guard let client = try? client("read the known end of \(partition)") else { return nil }
    var low: Int64 = 0
    var high: Int64 = 0
    let code = rd_kafka_get_watermark_offsets(client, partition.topic, partition.partition, &low, &high)
    return code == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : nil
  }

  /// Records that were fetched and wait for a poll.
  public var fetchedCount: Int {
    (try? client("count what was fetched")) == nil ? 0 : Int(rd_kafka_queue_length(queue))
  }

  /// Has librdkafka look whether more of these partitions can be fetched.
  ///
  /// A broker's thread of librdkafka 2.0.2 that finds the queue full, or a partition paused, looks again after a second,
  /// or when it has something else to do: so it is given a question to ask, whose answer is of no interest.
  public func wakeFetcher(of partitions: some Sequence<TopicPartition>) {
    guard let client = try? client("fetch more") else { return }
    let list = TopicPartitionList(
      partitions.map { TopicPartitionOffset($0, offset: TopicPartitionOffset.end) }
    )
    _ = rd_kafka_offsets_for_times(client, list.pointer, 1)
  }

  /// Asks the partition's leader where the partition begins and ends.
  ///
  /// After a question that failed and may be asked again, it asks who leads the partition now, which may take as long
  /// again.
  ///
  /// - Throws: `_TIMED_OUT`, `LEADER_NOT_AVAILABLE`, `_UNKNOWN_PARTITION` and other errors, naming the partition.
  public func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    // Not `rd_kafka_query_watermark_offsets`, which asks for both at once: librdkafka 2.0.2 takes the one that
    // is answered for both when the other has to be asked for again.
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    do throws(KafkaError) {
      return Watermarks(
        low: try queryOffset(TopicPartitionOffset.beginning, of: partition, deadline),
        high: try queryOffset(TopicPartitionOffset.end, of: partition, deadline)
      )
    } catch {
      // librdkafka 2.0.2 goes on asking the leader that it was told of first, even if there was none, for
      // `topic.metadata.refresh.interval.ms`, by default five minutes.
      if error.isRetriable { _ = try? metadata([partition.topic], timeoutMilliseconds: timeoutMilliseconds) }
      throw error
    }
  }

  /// - Parameter place: `TopicPartitionOffset.beginning` or `end`, which stand for a time.
  private func queryOffset(
    _ place: Int64,
    of partition: TopicPartition,
    _ deadline: Deadline
  ) throws(KafkaError) -> Int64 {
    let action = "read the watermarks of \(partition)"
    let client = try client(action)
    let list = TopicPartitionList([TopicPartitionOffset(partition, offset: place)])
    let code = rd_kafka_offsets_for_times(client, list.pointer, max(1, deadline.remainingMilliseconds))
    // Said of a partition without a leader as well; what is wrong with the partition, its entry tells.
    if KafkaErrorCode(code) == .unknownPartition { try list.check(action) }
    try KafkaError.check(code, client: client, action)
    guard let offset = try list.offsets(action)[partition] ?? nil else {
      throw .make(.timedOut, action, detail: "the broker returned no offset")
    }
    return offset
  }

  /// Commits offsets for the group, outside of any transaction, and waits for the answer.
  ///
  /// For tools and tests: what reads and publishes commits through `TransactionalProducer.sendOffsets`.
  ///
  /// - Parameter offsets: of each partition the offset of the next record to read.
  public func commit(_ offsets: [TopicPartition: CommittedOffset]) throws(KafkaError) {
    let action = "commit \(offsets.text)"
    let client = try groupClient(action)
    let list = TopicPartitionList(offsets)
    try KafkaError.check(rd_kafka_commit(client, list.pointer, 0), client: client, action)
    try list.check("commit the offset")
  }

  /// The consumer's membership of its group, for `TransactionalProducer.sendOffsets`.
  ///
  /// - Throws: `_UNKNOWN_GROUP` without `group.id`; `UNKNOWN_MEMBER_ID` if the group has put the member out since it was
  ///   assigned the partitions it holds, whether it has taken it in again or not.
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
