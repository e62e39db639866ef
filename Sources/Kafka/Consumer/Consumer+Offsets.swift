import CRdkafka

extension Consumer {
  /// The offsets that the group has committed for these partitions, nil where it has not.
  ///
  /// For a `readCommitted` consumer the broker answers only when no transaction with offsets of the
  /// partitions is open; until then this waits.
  ///
  /// - Throws: `_TIMED_OUT`; `_UNKNOWN_GROUP` without `group.id`; an error naming the partition.
  public func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: Int64?] {
    let action = "read the committed offsets"
    let client = try groupClient(action)
    if partitions.isEmpty {
      return [:]
    }
    let list = TopicPartitionList(partitions)
    let code = rd_kafka_committed(client, list.pointer, timeoutMilliseconds)
    try KafkaError.check(code, client: client, "\(action) of \(partitions)")
    return try list.offsets(action)
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

  /// Asks the partition's leader where the partition begins and ends.
  ///
  /// - Throws: `_TIMED_OUT`, `_UNKNOWN_PARTITION` and other errors, naming the partition.
  public func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    let action = "read the watermarks of \(partition)"
    let client = try client(action)
    var low: Int64 = 0
    var high: Int64 = 0
    let code = rd_kafka_query_watermark_offsets(
      client,
      partition.topic,
      partition.partition,
      &low,
      &high,
      timeoutMilliseconds
    )
    try KafkaError.check(code, client: client, action)
    return Watermarks(low: low, high: high)
  }

  /// Commits offsets for the group, outside of any transaction, and waits for the answer.
  ///
  /// For tools and tests: what reads and publishes commits through `TransactionalProducer.sendOffsets`.
  ///
  /// - Parameter offsets: of each partition the offset of the next record to read.
  public func commit(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    let client = try groupClient("commit \(offsets)")
    let list = TopicPartitionList(offsets)
    try KafkaError.check(rd_kafka_commit(client, list.pointer, 0), client: client, "commit \(offsets)")
    try list.check("commit the offset")
  }

  /// The consumer's membership of its group, for `TransactionalProducer.sendOffsets`.
  ///
  /// - Throws: `_UNKNOWN_GROUP` without `group.id`.
  public func groupMetadata() throws(KafkaError) -> ConsumerGroupMetadata {
    let client = try groupClient("read the group's metadata")
    guard let pointer = rd_kafka_consumer_group_metadata(client) else {
      throw .make(KafkaErrorCode(RD_KAFKA_RESP_ERR__UNKNOWN_GROUP), "read the group's metadata")
    }
    return ConsumerGroupMetadata(taking: pointer)
  }
}
