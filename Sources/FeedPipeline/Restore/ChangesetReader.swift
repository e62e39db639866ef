import Feed
import Kafka

/// Reads partitions of the changesets topic from their beginnings, all at once, into replicas; partitions come and go.
///
/// Two clients, as what may be read and how far there is something to read are different questions: with
/// committed isolation the broker would name the last stable offset, before a transaction that is not known
/// to have ended, and what was committed last could be missed.
///
/// What is in memory besides the feeds is bounded: what librdkafka fetches ahead by
/// ``KafkaSettings/restorer``, whatever the number of partitions, and what one reading takes of it here.
final class ChangesetReader {
  let topic: String
  private let reader: Consumer
  private let measurer: Consumer
  private let batch: MessageBatch
  /// The next record of the batch that was not applied.
  private var next = 0
  private let indexer = JSONIndexer()
  private var partitions: [Int32: ChangesetPartition] = [:]
  /// Partitions that were dropped since the batch was filled: what it has of them is of before.
  private var dropped: Set<Int32> = []

  /// What one reading brought.
  struct Portion {
    var records = 0
    var bytes = 0
    /// Of each partition of which something came: everything before this was read.
    var positions: [Int32: Int64] = [:]
    /// Partitions of which a record is none or does not fit; they are not read on.
    var unreadable: [Int32: DaemonError] = [:]
    /// What went wrong and does not pass by itself, of one partition perhaps: what was read counts all the same, as an
    /// end of a partition is told once.
    var failure: KafkaError?

    /// Notes what came besides records, after these.
    mutating func note(_ event: ConsumerEvent) {
      switch event {
      case .endOfPartition(_, let partition, let offset):
        positions[partition] = max(positions[partition] ?? 0, offset)
      case .error(let error):
        if !error.isRetriable, failure == nil { failure = error }
      }
    }
  }

  /// Records of one reading; few enough that reloads' parts, of nearly a megabyte each, are not hoarded.
  private static let batchCapacity = 100

  init(_ settings: KafkaSettings, topic: String, log: @escaping KafkaLogHandler) throws(KafkaError) {
    self.topic = topic
    reader = try Consumer(configuration: settings.restorer, isolationLevel: .readCommitted, log: log)
    measurer = try Consumer(configuration: settings.reader, isolationLevel: .readUncommitted, log: log)
    batch = reader.makeBatch(capacity: Self.batchCapacity)
  }

  /// Where a partition of any topic begins and ends, whatever becomes of open transactions.
  func ends(of partition: TopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> Watermarks {
    try measurer.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Begins with these partitions, besides those that are read.
  func open(_ opened: [RestoredPartition]) throws(KafkaError) {
    // An offset, not "the beginning": what a client does not know at once it asks for again after half a second.
    try reader.add(
      opened.map { TopicPartitionOffset(topic: topic, partition: $0.number, offset: $0.position) }
    )
    for partition in opened {
      partitions[partition.number] = ChangesetPartition(
        topic,
        partition.number,
        end: partition.end,
        indexer: indexer
      )
    }
  }

  /// Stops reading partitions, wherever they are, and forgets what was read of them; passes over others.
  func drop(_ numbers: some Sequence<Int32>) throws(KafkaError) {
    for number in numbers where partitions[number] != nil { _ = try close(number) }
  }

  /// Reads what there is, of whatever partition, waiting for it if need be.
  ///
  /// - Parameter goesOn: asked after each record whether there is time for another; the others come with the next
  ///   reading.
  /// - Throws: if the client is closed.
  func read(timeoutMilliseconds: Int32, while goesOn: () -> Bool) throws(KafkaError) -> Portion {
    if next >= batch.count {
      next = 0
      try reader.poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
      dropped = []
    }
    var portion = Portion()
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

  /// Hands out a partition that was read to its end, and stops reading it; nil if it was empty and not opened.
  func close(_ partition: Int32) throws(KafkaError) -> ChangesetPartition? {
    guard let read = partitions.removeValue(forKey: partition) else { return nil }
    dropped.insert(partition)
    try reader.remove([TopicPartition(topic: topic, partition: partition)])
    return read
  }
}
