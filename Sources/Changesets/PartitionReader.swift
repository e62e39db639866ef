private import Feed
package import Kafka

/// Reads a changing set of partitions of one topic.
///
/// This is the only loop over the records of the changesets topic: workers restore feeds with it, followers follow with it,
/// and the tools read a topic once with it. It belongs to one thread.
package final class PartitionReader {
  package let topic: String
  package let client: any RecordConsumer
  private let batch: MessageBatch
  /// The next record of the batch.
  private var next = 0
  /// Partitions that were removed since the batch was filled: its records of them are outdated.
  private var removed: Set<Int32> = []

  /// The result of a read other than records.
  package struct Events {
    /// The reached ends of partitions.
    package var ends: [Int32: Int64] = [:]
    /// The first error that does not resolve itself. Other results are still valid: an end is reported only once.
    package var failure: KafkaError?
    /// Whether the brokers returned nothing at all.
    package var isIdle = false

    package init() {}

    package mutating func add(_ event: ConsumerEvent) {
      switch event {
      case .endOfPartition(_, let partition, let offset): ends[partition] = max(ends[partition] ?? 0, offset)
      case .error(let error): if !error.isRetriable, failure == nil { failure = error }
      }
    }
  }

  package init(topic: String, client: any RecordConsumer) {
    self.topic = topic
    self.client = client
    // Few, so that records of nearly a megabyte each do not accumulate.
    batch = client.makeBatch(capacity: 100)
  }

  package func topicPartition(_ number: Int32) -> TopicPartition {
    TopicPartition(topic: topic, partition: number)
  }

  /// Also reads these partitions, from these offsets.
  ///
  /// Offsets instead of "the beginning", for which librdkafka repeats a failed request only after half a second.
  package func add(_ positions: [Int32: Int64]) throws(KafkaError) {
    if positions.isEmpty { return }
    try client.add(
      positions.sorted { $0.key < $1.key }
        .map { TopicPartitionOffset(topic: topic, partition: $0.key, offset: $0.value) }
    )
  }

  /// Stops reading partitions; none of their records follows.
  package func remove(_ numbers: Set<Int32>) throws(KafkaError) {
    if numbers.isEmpty { return }
    removed.formUnion(numbers)
    try client.remove(numbers.sorted().map(topicPartition))
  }

  /// Reads available records, and waits if there are none.
  ///
  /// - Parameter take: receives a record; returns false to end this read. The next read begins with that record.
  /// - Returns: nil if records are left.
  package func read(
    timeoutMilliseconds: Int32,
    _ take: (Message) throws(KafkaError) -> Bool
  ) throws(KafkaError) -> Events? {
    if next >= batch.count {
      next = 0
      try client.fill(batch, timeoutMilliseconds: timeoutMilliseconds)
      removed = []
    }
    while next < batch.count {
      let record = batch.messages[next]
      next += 1
      // Prefetched early, because another thread received the record.
      if next + LookAhead.distance < batch.count,
        let value = batch.messages[next + LookAhead.distance].payload
      {
        LookAhead.prefetch(ByteSpan(value))
      }
      if !removed.isEmpty, removed.contains(record.partition) { continue }
      if try !take(record) {
        next -= 1
        return nil
      }
    }
    var events = Events()
    for event in batch.events {
      if case .endOfPartition(_, let partition, _) = event, removed.contains(partition) { continue }
      events.add(event)
    }
    events.isIdle = batch.count == 0 && batch.events.isEmpty
    return events
  }

  /// Waits, and serves the client's events. Records that arrive meanwhile are lost: remove their partitions, and add them again.
  package func wait(milliseconds: Int32) throws(KafkaError) {
    next = 0
    try client.fill(batch, timeoutMilliseconds: milliseconds)
  }

  package func knownEnd(of number: Int32) -> Int64? { client.knownEnd(of: topicPartition(number)) }
}
