import CRdkafka

extension Consumer {
  /// Reads exactly these partitions, from these offsets, without a group; replaces what was assigned before.
  ///
  /// Not to be mixed with `subscribe`. `offset` may be one of `TopicPartitionOffset.beginning`, `end`,
  /// `stored`.
  public func assign(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    let client = try client("assign \(offsets)")
    forgetPauses(client)
    let list = TopicPartitionList(offsets)
    try KafkaError.check(rd_kafka_assign(client, list.pointer), client: client, "assign \(offsets)")
  }

  /// Reads these partitions as well, from these offsets, without a group; none of them may be assigned yet.
  ///
  /// Not to be mixed with `subscribe`.
  public func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    let client = try client("assign \(offsets)")
    let list = TopicPartitionList(offsets)
    if let error = rd_kafka_incremental_assign(client, list.pointer) {
      throw .make(taking: error, "assign \(offsets)")
    }
  }

  /// Reads these partitions no more, which were added.
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

  /// The partitions assigned now, by the group or by hand.
  public func assignment() throws(KafkaError) -> [TopicPartition] {
    let client = try client("read the assignment")
    var list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    try KafkaError.check(rd_kafka_assignment(client, &list), client: client, "read the assignment")
    return list.map { TopicPartitionList(taking: $0).partitions } ?? []
  }

  /// Stops handing out records of assigned partitions; what was fetched of them is dropped, to be fetched
  /// again.
  ///
  /// Partitions paused before are passed over. A partition is paused until it is resumed or revoked: a new
  /// assignment starts with none paused.
  ///
  /// - Throws: `_UNKNOWN_PARTITION` if one is not assigned; none is paused then.
  public func pause(_ partitions: some Sequence<TopicPartition>) throws(KafkaError) {
    let client = try client("pause partitions")
    let added = partitions.filter { !pausedPartitions.contains($0) }
    if added.isEmpty {
      return
    }
    // librdkafka takes any partition of a topic that it has heard of, and keeps it paused.
    let assigned = try Set(assignment())
    if let stranger = added.first(where: { !assigned.contains($0) }) {
      throw .make(.unknownPartition, "pause \(stranger)", detail: "it is not assigned to this consumer")
    }
    let list = TopicPartitionList(added)
    try KafkaError.check(rd_kafka_pause_partitions(client, list.pointer), client: client, "pause \(added)")
    try list.check("pause the reading")
    pausedPartitions.formUnion(added)
  }

  /// Hands out records again of partitions that `pause` has paused, from where they were; passes over others.
  ///
  /// (Resuming a partition that is not paused makes librdkafka throw away what it has fetched.)
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

  /// Goes on reading assigned partitions at other offsets, and drops what was fetched of them.
  ///
  /// Messages of an earlier poll are not touched: use up or drop the batch before.
  ///
  /// - Parameter timeoutMilliseconds: how long to wait for it to have happened; at least 1.
  /// - Throws: `_TIMED_OUT`, after which the position is unknown; an error that names the partition if one
  ///   is not assigned.
  public func seek(_ offsets: [TopicPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {
    let client = try client("seek to \(offsets)")
    if offsets.isEmpty {
      return
    }
    let list = TopicPartitionList(offsets)
    if let error = rd_kafka_seek_partitions(client, list.pointer, Self.seekTimeout(timeoutMilliseconds)) {
      defer { rd_kafka_error_destroy(error) }
      // The object is not marked as retriable, which only transaction calls are; its kind tells.
      let kind = KafkaErrorCode(rd_kafka_error_code(error))
      throw .make(kind, "seek to \(offsets)", detail: String(cString: rd_kafka_error_string(error)))
    }
    try list.check("change the position")
    for offset in offsets { withheld[offset.topicPartition] = nil }
  }

  /// What librdkafka is to be told so that it waits that long: before 2.1 it waits a thousandth of what it is told
  /// (its issue 4230).
  private static func seekTimeout(_ milliseconds: Int32) -> Int32 {
    let factor: Int64 = rd_kafka_version() < 0x02_01_00_00 ? 1_000 : 1
    return Int32(clamping: max(1, Int64(milliseconds)) * factor)
  }

  /// Lifts every pause, as librdkafka would carry it over into the next assignment of the partition.
  private func forgetPauses(_ client: OpaquePointer) {
    forgetPauses(of: pausedPartitions, client)
    withheld = [:]
  }

  /// Lifts pauses of partitions that are about to go.
  func forgetPauses(of partitions: Set<TopicPartition>, _ client: OpaquePointer) {
    if partitions.isEmpty {
      return
    }
    let list = TopicPartitionList(partitions)
    // What is no longer assigned cannot be resumed, and need not be.
    _ = rd_kafka_resume_partitions(client, list.pointer)
    pausedPartitions.subtract(partitions)
    for partition in partitions { withheld[partition] = nil }
  }
}
