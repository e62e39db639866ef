import CRdkafka

extension Consumer {
  /// Also reads these partitions from these offsets, without a group. They must not be assigned yet.
  ///
  /// Do not combine with `subscribe`. `offset` may be `TopicPartitionOffset.beginning` or `end`.
  public func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    let client = try client("assign \(offsets)")
    let list = TopicPartitionList(offsets)
    try KafkaError.check(rd_kafka_incremental_assign(client, list.pointer), "assign \(offsets)")
  }

  /// Stops reading partitions that were added.
  public func remove(_ partitions: [TopicPartition]) throws(KafkaError) {
    let client = try client("unassign \(partitions)")
    if partitions.isEmpty { return }
    forgetPauses(of: pausedPartitions.intersection(partitions), client)
    let list = TopicPartitionList(partitions)
    try KafkaError.check(rd_kafka_incremental_unassign(client, list.pointer), "unassign \(partitions)")
  }

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
  public func pause(_ partitions: [TopicPartition]) throws(KafkaError) {
    let client = try client("pause partitions")
    let added = partitions.filter { !pausedPartitions.contains($0) }
    if added.isEmpty { return }
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
  public func resume(_ partitions: [TopicPartition]) throws(KafkaError) {
    let client = try client("resume partitions")
    let paused = partitions.filter { pausedPartitions.contains($0) }
    if paused.isEmpty { return }
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
  /// - Parameter timeoutMilliseconds: the maximum wait for the seek to take effect; at least 1.
  /// - Throws: `_TIMED_OUT`, after which the position is unknown; an error with the partition if one is not assigned.
  public func seek(_ offsets: [TopicPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {
    let client = try client("seek to \(offsets)")
    if offsets.isEmpty { return }
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

  /// Resumes paused partitions before they are revoked.
  func forgetPauses(of partitions: Set<TopicPartition>, _ client: OpaquePointer) {
    if partitions.isEmpty { return }
    let list = TopicPartitionList(partitions)
    // A partition that is no longer assigned cannot be resumed, and need not be.
    _ = rd_kafka_resume_partitions(client, list.pointer)
    pausedPartitions.subtract(partitions)
    for partition in partitions { withheld[partition] = nil }
  }

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
    if partitions.isEmpty { return [:] }
    let list = TopicPartitionList(partitions)
    let code = rd_kafka_committed(client, list.pointer, timeoutMilliseconds)
    try KafkaError.check(code, client: client, "\(action) of \(partitions)")
    return try list.committed(action)
  }

  /// The end of a partition, by the last fetch response; nil before the first. Sends no request.
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
    (try? client("count fetched records")) == nil ? 0 : Int(rd_kafka_queue_length(queue))
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
    // Not `rd_kafka_query_watermark_offsets`, which requests both at once: if librdkafka 2.0.2 retries one request, it
    // uses the other's result for both.
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    do throws(KafkaError) {
      return Watermarks(
        low: try queryOffset(TopicPartitionOffset.beginning, of: partition, deadline),
        high: try queryOffset(TopicPartitionOffset.end, of: partition, deadline)
      )
    } catch {
      // librdkafka 2.0.2 keeps its first metadata, even without a leader, or if the broker did not know a new topic,
      // for `topic.metadata.refresh.interval.ms`, by default five minutes.
      if error.isRetriable || error.kind == .unknownTopicOrPartition {
        _ = try? metadata([partition.topic], timeoutMilliseconds: timeoutMilliseconds)
      }
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
    try list.check(action)
    let offset = list.pointer.pointee.elems[0].offset
    guard offset >= 0 else { throw .make(.timedOut, action, detail: "the broker returned no offset") }
    return offset
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

/// The first and the end offset of a partition.
public struct Watermarks: Sendable, Hashable {
  /// The offset of the oldest record.
  public var low: Int64
  /// The offset of the next record: the high watermark for a `readUncommitted` consumer, the last stable offset for a
  /// `readCommitted` one.
  public var high: Int64

  public init(low: Int64, high: Int64) {
    self.low = low
    self.high = high
  }
}

/// The member and generation of a group that has read the offsets to commit in a transaction.
///
/// Opaque: created by `Consumer.groupMetadata`, passed to `TransactionalProducer.sendOffsets`. It is a snapshot; create
/// a new one for every transaction, because brokers reject an old generation.
public final class ConsumerGroupMetadata {
  let pointer: OpaquePointer

  init(taking pointer: OpaquePointer) { self.pointer = pointer }

  deinit { rd_kafka_consumer_group_metadata_destroy(pointer) }

  /// The id of the member in the group; nil if it has none.
  public var memberID: String? {
    guard let id = membership?.memberID, !id.isEmpty else { return nil }
    return id
  }

  /// The generation and member id; nil if librdkafka's format is unknown.
  ///
  /// A generation of -1 with an empty id means no membership; brokers then check nothing.
  var membership: (generation: Int32, memberID: String)? {
    var buffer: UnsafeMutableRawPointer?
    var size = 0
    if let error = rd_kafka_consumer_group_metadata_write(pointer, &buffer, &size) {
      rd_kafka_error_destroy(error)
      return nil
    }
    guard let buffer else { return nil }
    defer { rd_kafka_mem_free(nil, buffer) }
    let bytes = UnsafeRawBufferPointer(start: buffer, count: size)
    // The format: its name, the generation in native byte order, then zero-terminated strings: group and member id.
    let start = Self.formatName.utf8.count
    guard bytes.starts(with: Self.formatName.utf8), size >= start + 4 else { return nil }
    let texts = bytes[(start + 4)...].split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    guard texts.count == 3 else { return nil }
    return (
      bytes.loadUnaligned(fromByteOffset: start, as: Int32.self), String(decoding: texts[1], as: UTF8.self)
    )
  }

  private static let formatName = "CGMDv2:"
}
