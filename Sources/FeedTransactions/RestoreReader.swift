package import Changesets
import Diagnostics
package import Feed
package import FeedKafka
package import Kafka

/// The result of one read of a restoration.
package struct RestoredRecords {
  package var records = 0
  package var bytes = 0
  /// For each partition with new records: the offset before which all were read.
  package var positions: [Int32: Int64] = [:]
  /// Partitions with a record that is malformed or does not apply. They are not read further.
  package var unreadable: [Int32: DaemonError] = [:]
  /// An error that does not resolve itself.
  package var failure: KafkaError?
}

/// Reads many partitions of the changesets topic at once, up to an end, to restore their feeds.
///
/// It has two clients: one reads committed records; the other asks for ends regardless of transactions. With committed
/// isolation, a broker reports the last stable offset, which is before any transaction whose end it does not know yet, so the
/// last commit could be missed.
///
/// Memory holds the feeds, librdkafka's prefetched records (``KafkaSettings/restorer``) and one batch.
package final class RestoreReader {
  private let reader: PartitionReader
  private let measurer: any RecordConsumer
  private let indexer = JSONIndexer()
  private var partitions: [Int32: ReadPartition] = [:]
  /// The ends of the partitions that the client reads.
  private var ends: [Int32: Int64] = [:]
  /// Bytes still to be allocated beyond the last extension of the heap; negative while there is room.
  private var unpreparedBytes = 0

  private static let heapStep = 4 << 20

  /// - Parameters:
  ///   - reader: reads committed records.
  ///   - measurer: reads uncommitted records, so that it gets the true ends.
  package init(topic: String, reader: any RecordConsumer, measurer: any RecordConsumer) {
    self.reader = PartitionReader(topic: topic, client: reader)
    self.measurer = measurer
  }

  package var topic: String { reader.topic }

  /// The ends of a partition of any topic, including open and aborted transactions.
  package func ends(of partition: TopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> Watermarks
  {
    try measurer.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Continues from a followed partition. If some records are left to read, ``open(_:)`` comes next.
  package func adopt(_ partition: ReadPartition) {
    partition.replicas.use(indexer)
    partitions[partition.number] = partition
  }

  /// Also reads these partitions.
  package func open(_ added: [RestoreRange]) throws(KafkaError) {
    try reader.add(Dictionary(uniqueKeysWithValues: added.map { ($0.number, $0.position) }))
    for partition in added {
      ends[partition.number] = partition.end
      if partitions[partition.number] == nil {
        partitions[partition.number] = ReadPartition(
          topic,
          partition.number,
          from: partition.position,
          indexer: indexer
        )
      }
    }
  }

  /// Stops reading partitions and discards their replicas; ignores unknown ones.
  package func drop(_ numbers: Set<Int32>) throws(KafkaError) {
    for number in numbers where partitions[number] != nil { _ = try close(number) }
  }

  /// Reads available records, and waits if there are none.
  ///
  /// - Parameter hasTime: called after each record; if it returns false, the next read continues there.
  /// - Throws: if the client is closed.
  package func read(
    timeoutMilliseconds: Int32,
    while hasTime: () -> Bool
  ) throws(KafkaError) -> RestoredRecords {
    var result = RestoredRecords()
    var isFirst = true
    var current: ReadPartition?
    let events = try reader.read(timeoutMilliseconds: timeoutMilliseconds) { record throws(KafkaError) in
      if !isFirst, !hasTime() { return false }
      isFirst = false
      if record.partition != current?.number { current = partitions[record.partition] }
      guard let partition = current, let end = ends[partition.number] else { return true }
      // Records beyond the requested end do not belong to the committed offsets.
      guard record.offset < end else {
        result.positions[partition.number] = end
        return true
      }
      makeRoom(for: record.size)
      if let fault = partition.restore(record) {
        result.unreadable[partition.number] = fault
        _ = try close(partition.number)
        current = nil
      }
      result.records += 1
      result.bytes += record.size
      result.positions[partition.number] = record.offset + 1
      return true
    }
    for (number, offset) in events?.ends ?? [:] {
      result.positions[number] = max(result.positions[number] ?? 0, offset)
    }
    result.failure = events?.failure
    return result
  }

  /// Extends the heap in large steps, ahead of the memory that the records will need.
  private func makeRoom(for recordBytes: Int) {
    unpreparedBytes += 2 * recordBytes
    guard unpreparedBytes > 0 else { return }
    FreedMemory.makeRoom(for: Self.heapStep)
    unpreparedBytes = -Self.heapStep
  }

  /// Stops reading a partition and returns its replicas; nil if nothing was read.
  package func close(_ number: Int32) throws(KafkaError) -> ReadPartition? {
    guard let read = partitions.removeValue(forKey: number) else { return nil }
    if ends.removeValue(forKey: number) != nil { try reader.remove([number]) }
    return read
  }
}

extension ReadPartition {
  /// Applies a record.
  ///
  /// - Returns: why a store cannot continue from the feeds; nil if it can.
  package func restore(_ record: Message) -> DaemonError? {
    let key = record.key.map { ByteSpan($0) } ?? .empty
    _ = try? apply(offset: record.offset, key: key, value: record.payload.map { ByteSpan($0) })
    return damage.map { failure($0.fault, at: $0.offset) }
  }

  /// The error for incomplete feeds at the end of the partition, with the place and the remedy.
  package func failure(_ fault: ReplicaFault) -> DaemonError {
    failure(fault, at: fault.feed.flatMap(firstUnapplied))
  }

  private func failure(_ fault: ReplicaFault, at offset: Int64?) -> DaemonError {
    DaemonError(
      .unreadableChangesets,
      """
      feeds cannot be restored from \(place(at: offset)): \(fault.message); nothing of the partition was taken over. \
      Make sure that nobody else writes to the topic and that its cleanup.policy is "compact". Then either \
      write nulls under the keys of that feed or record and start again when they are compacted, so that \
      the feed starts over; or name a new topic as topics.changesets and a new kafka.group.id, so that all \
      feeds are rebuilt from the input
      """
    )
  }
}

/// The progress in a partition of the changesets topic.
package struct RestoreRange: Equatable {
  package let number: Int32
  /// All records before this offset were read.
  private(set) var position: Int64
  /// The offset after the last record to read.
  package let end: Int64

  /// - Parameter position: everything before it was read already; nil if nothing was.
  package init(_ number: Int32, _ ends: Watermarks, from position: Int64? = nil) {
    self.number = number
    self.position = position ?? ends.low
    end = ends.high
  }

  package var isRead: Bool { position >= end }
  /// The offsets that are left. Not all are records: there are markers of transactions, and gaps left by compaction.
  package var remaining: Int64 { max(0, end - position) }

  /// All records before this offset were read.
  package mutating func advance(to offset: Int64) { position = max(position, offset) }
}
