import CRdkafka

extension Consumer {
  /// Reads exactly these partitions from these offsets, without a group. Replaces the previous assignment.
  ///
  /// Do not combine with `subscribe`. `offset` may be `TopicPartitionOffset.beginning`, `end` or `stored`.
  public func assign(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    let client = try client("assign \(offsets)")
    forgetPauses(client)
    let list = TopicPartitionList(offsets)
    try KafkaError.check(rd_kafka_assign(client, list.pointer), client: client, "assign \(offsets)")
  }

  /// Also reads these partitions from these offsets, without a group. They must not be assigned yet.
  ///
  /// Do not combine with `subscribe`.
  public func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    let client = try client("assign \(offsets)")
    let list = TopicPartitionList(offsets)
    if let error = rd_kafka_incremental_assign(client, list.pointer) {
      throw .make(taking: error, "assign \(offsets)")
    }
  }

  /// Stops reading partitions that were added.
  public func remove(_ partitions: [TopicPartition]) throws(KafkaError) {
    let client = try client("unassign \(partitions)")
    if partitions.isEmpty {
      return
    }
    forgetPauses(of: pausedPartitions.intersection(partitions), client)
    let list = TopicPartitionList(partitions)
    if let error = rd_kafka_incremental_unassign(client, list.pointer) {
      throw .make(taking: error, "unassign \(partitions)")
    }
  }

  /// The assigned partitions.
  public func assignment() throws(KafkaError) -> [TopicPartition] {
    let client = try client("read the assignment")
    var list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    try KafkaError.check(rd_kafka_assignment(client, &list), client: client, "read the assignment")
    return list.map { TopicPartitionList(taking: $0).partitions } ?? []
  }

  /// Stops delivering records of assigned partitions. Their fetched records are dropped, and fetched again later.
  ///
  /// Partitions that are already paused are ignored. A pause lasts until the partition is resumed or revoked; a new
  /// assignment starts without pauses.
  ///
  /// - Throws: `_UNKNOWN_PARTITION` if a partition is not assigned; none is paused then.
  public func pause(_ partitions: some Sequence<TopicPartition>) throws(KafkaError) {
    let client = try client("pause partitions")
    let added = partitions.filter { !pausedPartitions.contains($0) }
    if added.isEmpty {
      return
    }
    // librdkafka accepts any partition of a topic that it knows, and keeps it paused.
    let assigned = try Set(assignment())
    if let stranger = added.first(where: { !assigned.contains($0) }) {
      throw .make(.unknownPartition, "pause \(stranger)", detail: "it is not assigned to this consumer")
    }
    let list = TopicPartitionList(added)
    try KafkaError.check(rd_kafka_pause_partitions(client, list.pointer), client: client, "pause \(added)")
    try list.check("pause the reading")
    pausedPartitions.formUnion(added)
  }

  /// Resumes partitions that `pause` has paused, from where they were; ignores others.
  ///
  /// Resuming a partition that is not paused would make librdkafka drop its fetched records.
  public func resume(_ partitions: some Sequence<TopicPartition>) throws(KafkaError) {
    let client = try client("resume partitions")
    let paused = partitions.filter { pausedPartitions.contains($0) }
    if paused.isEmpty {
      return
    }
    let early = paused.compactMap { partition in
      withheld[partition].map { TopicPartitionOffset(partition, offset: $0) }
    }
    try seek(early, timeoutMilliseconds: Self.withheldSeekMilliseconds)
    let list = TopicPartitionList(paused)
    try KafkaError.check(rd_kafka_resume_partitions(client, list.pointer), client: client, "resume \(paused)")
    pausedPartitions.subtract(paused)
    wakeFetcher(of: paused)
    try list.check("resume the reading")
  }

  private static let withheldSeekMilliseconds: Int32 = 5_000

  /// Continues reading assigned partitions at other offsets, and drops their fetched records.
  ///
  /// Messages of an earlier poll are not affected: use or drop the batch first.
  ///
  /// - Parameter timeoutMilliseconds: how long to wait for the seek to take effect; at least 1.
  /// - Throws: `_TIMED_OUT`, after which the position is unknown; an error with the partition if one is not assigned.
  public func seek(_ offsets: [TopicPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {
    let client = try client("seek to \(offsets)")
    if offsets.isEmpty {
      return
    }
    let list = TopicPartitionList(offsets)
    if let error = rd_kafka_seek_partitions(client, list.pointer, Self.seekTimeout(timeoutMilliseconds)) {
      defer { rd_kafka_error_destroy(error) }
      // Only errors of transaction calls carry the retriable flag; here the kind determines it.
      let kind = KafkaErrorCode(rd_kafka_error_code(error))
      throw .make(kind, "seek to \(offsets)", detail: String(cString: rd_kafka_error_string(error)))
    }
    try list.check("change the position")
    for offset in offsets { withheld[offset.topicPartition] = nil }
  }

  /// The value to pass to librdkafka for this timeout: before 2.1, it waits only a thousandth of it (issue 4230).
  private static func seekTimeout(_ milliseconds: Int32) -> Int32 {
    let factor: Int64 = rd_kafka_version() < 0x02_01_00_00 ? 1_000 : 1
    return Int32(clamping: max(1, Int64(milliseconds)) * factor)
  }

  /// Resumes all paused partitions, because librdkafka would carry a pause over into the next assignment.
  private func forgetPauses(_ client: OpaquePointer) {
    forgetPauses(of: pausedPartitions, client)
    withheld = [:]
  }

  /// Resumes paused partitions before they are revoked.
  func forgetPauses(of partitions: Set<TopicPartition>, _ client: OpaquePointer) {
    if partitions.isEmpty {
      return
    }
    let list = TopicPartitionList(partitions)
    // A partition that is no longer assigned cannot be resumed, and need not be.
    _ = rd_kafka_resume_partitions(client, list.pointer)
    pausedPartitions.subtract(partitions)
    for partition in partitions { withheld[partition] = nil }
  }
}
