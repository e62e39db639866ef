package import Changesets
package import Feed
package import FeedStatus
import FeedStore
package import Kafka

/// The records of a poll, as input for the store: views of the client's messages, without a copy.
///
/// The store takes them in slices, between which the worker polls the group, however long applying takes.
///
/// Unchecked: it belongs to the worker's thread, on which the store runs as well.
package final class KafkaBatch: InputBatch, @unchecked Sendable {
  private let consumer: any RecordConsumer
  private let batch: MessageBatch
  @exclusivity(unchecked) private var next = 0
  private let clock: @Sendable () -> Int64
  private let wallClock: @Sendable () -> Int64
  /// When the last poll returned, in milliseconds since 1970.
  @exclusivity(unchecked) private var polled: Int64 = 0
  /// The end of the slice, in milliseconds of the clock; a record in progress is not interrupted.
  @exclusivity(unchecked) private var sliceEnd = Int64.max
  /// The first record of the slice, which is returned even after the slice's end.
  @exclusivity(unchecked) private var sliceStart = 0
  @exclusivity(unchecked) private var topics: [[UInt8]?] = []
  /// Partitions that were given up since the poll: their remaining records are skipped.
  @exclusivity(unchecked) private var dropped: Set<Int32> = []
  /// Counts the input that was taken from this batch and earlier ones since the last commit.
  @exclusivity(unchecked) package var taken = TakenInput()

  /// - Parameters:
  ///   - clock: milliseconds; read before every record, to find the end of a slice.
  ///   - wallClock: milliseconds since 1970; read once per poll.
  package init(
    _ consumer: any RecordConsumer,
    capacity: Int,
    clock: @escaping @Sendable () -> Int64,
    wallClock: @escaping @Sendable () -> Int64
  ) {
    self.consumer = consumer
    self.clock = clock
    self.wallClock = wallClock
    batch = consumer.makeBatch(capacity: capacity)
  }

  /// Polls again. All records of the last poll must have been taken.
  package func poll(timeoutMilliseconds: Int32) throws(KafkaError) {
    next = 0
    dropped = []
    try consumer.fill(batch, timeoutMilliseconds: timeoutMilliseconds)
    polled = wallClock()
  }

  /// The records of the last poll, by partition.
  package var spans: [InputSpan] {
    let messages = batch.messages
    var spans: [InputSpan] = []
    var start = 0
    while start < messages.count {
      // Records of one partition are adjacent.
      let first = messages[start]
      var last = first.offset
      var end = start + 1
      while end < messages.count {
        let message = messages[end]
        guard message.topicIndex == first.topicIndex, message.partition == first.partition,
          message.offset > last
        else { break }
        last = message.offset
        end += 1
      }
      let topic = consumer.topicName(at: first.topicIndex)
      let partition = TopicPartition(topic: topic, partition: first.partition)
      spans.append(InputSpan(partition: partition, first: first.offset, last: last))
      start = end
    }
    return spans
  }

  /// The number of records of the last poll.
  package var count: Int { batch.count }
  package var isEmpty: Bool { batch.isEmpty }
  /// Errors and ends of partitions from the last poll.
  package var events: [ConsumerEvent] { batch.events }
  /// The rebalance from the last poll.
  package var rebalance: Rebalance? { batch.rebalance }

  /// The ends of partitions that the last poll has reached, valid once its records are taken. Without paused
  /// partitions, whose records were withheld.
  package var ends: [TopicPartitionOffset] {
    batch.events.compactMap { event in
      guard case .endOfPartition(let topic, let partition, let offset) = event else { return nil }
      let place = TopicPartition(topic: consumer.topicName(at: topic), partition: partition)
      return consumer.pausedPartitions.contains(place) ? nil : TopicPartitionOffset(place, offset: offset)
    }
  }

  /// Begins a slice: after this time, only its first record is returned.
  package func beginSlice(until end: Int64) {
    sliceEnd = end
    sliceStart = next
  }

  /// Whether the last poll has records that were not taken.
  package var isUnfinished: Bool { next < batch.count }

  /// Drops the remaining records of partitions that were given up.
  package func drop(_ partitions: Set<Int32>) {
    if isUnfinished { dropped.formUnion(partitions) }
  }

  /// Drops the remaining records, which the consumer reads again later.
  package func discard() {
    batch.recycle()
    next = 0
  }

  // MARK: InputBatch

  package func current() -> InputRecord? {
    if !dropped.isEmpty {
      while next < batch.count, dropped.contains(batch.messages[next].partition) { next += 1 }
    }
    guard next < batch.count, next == sliceStart || clock() < sliceEnd else { return nil }
    return record(of: batch.messages[next])
  }

  @inline(__always)
  package func record(of message: Message) -> InputRecord {
    InputRecord(
      partition: message.partition,
      position: RecordPosition(
        topic: topicName(at: message.topicIndex),
        offset: message.offset,
        // -1 if the record has no timestamp.
        timestamp: message.timestampMilliseconds,
        taken: polled
      ),
      key: message.key.map { ByteSpan($0) },
      value: message.payload.map { .bytes(ByteSpan($0)) } ?? .null
    )
  }

  /// Takes all messages, regardless of the time.
  package func takeAll(_ body: (Message) throws(KafkaError) -> Void) throws(KafkaError) {
    for message in batch.messages {
      try body(message)
      taken.add(topic: message.topicIndex, bytes: message.size, timestamp: message.timestampMilliseconds)
    }
  }

  package func advance() {
    let message = batch.messages[next]
    taken.add(topic: message.topicIndex, bytes: message.size, timestamp: message.timestampMilliseconds)
    next += 1
    // Early enough before the look-ahead reads it.
    guard next + 4 * LookAhead.distance < batch.count else { return }
    if let value = batch.messages[next + 4 * LookAhead.distance].payload {
      LookAhead.prefetch(ByteSpan(value))
    }
  }

  package func upcoming(_ distance: Int) -> (partition: Int32, key: ByteSpan, value: ByteSpan)? {
    guard next + distance < batch.count else { return nil }
    let message = batch.messages[next + distance]
    guard let key = message.key, let value = message.payload else { return nil }
    return (message.partition, ByteSpan(key), ByteSpan(value))
  }

  private func topicName(at index: Int) -> [UInt8] {
    if index < topics.count, let name = topics[index] { return name }
    while topics.count <= index { topics.append(nil) }
    let name = Array(consumer.topicName(at: index).utf8)
    topics[index] = name
    return name
  }
}

/// Consecutive records of one partition in a poll.
package struct InputSpan: Equatable {
  package var partition: TopicPartition
  /// The offsets of the first and the last record.
  package var first: Int64
  package var last: Int64
}
