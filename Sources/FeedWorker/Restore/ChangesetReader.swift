import Feed
import FeedKafka
import Kafka
import Service

/// Reads partitions of the changesets topic from their beginnings, all at once, into replicas; partitions come and go.
///
/// Two clients, as what may be read and how far there is something to read are different questions: with
/// committed isolation the broker would name the last stable offset, before a transaction that is not known
/// to have ended, and what was committed last could be missed.
///
/// What is in memory besides the feeds is bounded: what librdkafka fetches ahead by
/// ``KafkaSettings/restorer``, whatever the number of partitions, and what one reading takes of it here.
final class ChangesetReader<Client: RecordConsumer>: RestoredChangesets {
  let topic: String
  private let reader: Client
  private let measurer: Client
  private let batch: Client.Batch
  /// The next record of the batch that was not applied.
  private var next = 0
  private let indexer = JSONIndexer()
  private var partitions: [Int32: ChangesetPartition] = [:]
  /// Those that the client reads.
  private var opened: Set<Int32> = []
  /// Partitions that were dropped since the batch was filled: its records of them are from before that.
  private var dropped: Set<Int32> = []
  /// How much more will be allocated than the heap was extended for; negative if that is less.
  private var unpreparedBytes = 0

  private static var heapStep: Int { 4 << 20 }

  /// Records of one reading; few enough that reloads' parts, of nearly a megabyte each, are not hoarded.
  private static var batchCapacity: Int { 100 }

  /// - Parameters:
  ///   - reader: reads what is committed.
  ///   - measurer: is told of the ends that there are, committed or not.
  init(topic: String, reader: Client, measurer: Client) {
    self.topic = topic
    self.reader = reader
    self.measurer = measurer
    batch = reader.makeBatch(capacity: Self.batchCapacity)
  }

  /// Where a partition of any topic begins and ends, whatever becomes of open transactions.
  func ends(of partition: TopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> Watermarks {
    try measurer.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
  }

  func adopt(_ partition: ChangesetPartition, until end: Int64) {
    partition.continueReading(until: end, indexer: indexer)
    partitions[partition.number] = partition
  }

  /// Begins with these partitions, besides those that are read.
  func open(_ added: [RestoredPartition]) throws(KafkaError) {
    // An offset, not "the beginning": what a client does not know at once it asks for again after half a second.
    try reader.add(
      added.map { TopicPartitionOffset(topic: topic, partition: $0.number, offset: $0.position) }
    )
    opened.formUnion(added.lazy.map(\.number))
    for partition in added where partitions[partition.number] == nil {
      partitions[partition.number] = ChangesetPartition(
        topic,
        partition.number,
        from: partition.position,
        end: partition.end,
        indexer: indexer
      )
    }
  }

  /// Stops reading partitions, wherever they are, and forgets what was read of them; passes over others.
  func drop(_ numbers: Set<Int32>) throws(KafkaError) {
    for number in numbers where partitions[number] != nil { _ = try close(number) }
  }

  /// Reads what there is, of whatever partition, waiting for it if need be.
  ///
  /// - Parameter goesOn: asked after each record whether there is time for another; the others come with the next
  ///   reading.
  /// - Throws: if the client is closed.
  func read(timeoutMilliseconds: Int32, while goesOn: () -> Bool) throws(KafkaError) -> RestoredPortion {
    if next >= batch.count {
      next = 0
      try reader.fill(batch, timeoutMilliseconds: timeoutMilliseconds)
      dropped = []
    }
    var portion = RestoredPortion()
    var current: ChangesetPartition?
    let first = next
    while next < batch.count {
      if next > first, !goesOn() { return portion }
      let message = batch[next]
      next += 1
      if message.partition != current?.number { current = partitions[message.partition] }
      guard let partition = current, !dropped.contains(partition.number) else { continue }
      // What was written after the end was asked for is not what the committed offsets belong to.
      guard message.offset < partition.end else {
        portion.positions[partition.number] = partition.end
        continue
      }
      makeRoom(for: message.size)
      do throws(DaemonError) {
        try partition.apply(message)
      } catch {
        portion.unreadable[partition.number] = error
        _ = try close(partition.number)
        current = nil
      }
      portion.records += 1
      portion.bytes += message.size
      portion.positions[partition.number] = message.offset + 1
    }
    for event in batch.events {
      if case .endOfPartition(_, let partition, _) = event, dropped.contains(partition) { continue }
      portion.note(event)
    }
    return portion
  }

  /// Extends the heap ahead of what the records become in memory, in large steps.
  private func makeRoom(for recordBytes: Int) {
    unpreparedBytes += 2 * recordBytes
    guard unpreparedBytes > 0 else { return }
    FreedMemory.makeRoom(for: Self.heapStep)
    unpreparedBytes = -Self.heapStep
  }

  /// Hands out a partition that was read to its end, and stops reading it; nil if it was empty and not opened.
  func close(_ partition: Int32) throws(KafkaError) -> ChangesetPartition? {
    guard let read = partitions.removeValue(forKey: partition) else { return nil }
    guard opened.remove(partition) != nil else { return read }
    dropped.insert(partition)
    try reader.remove([TopicPartition(topic: topic, partition: partition)])
    return read
  }
}
