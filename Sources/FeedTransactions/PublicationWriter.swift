import Feed
package import FeedKafka
package import FeedStore
package import Kafka
import Synchronization

/// Queues the records of one part of a flush for a transaction. If the producer's queue is full, it returns
/// early, and the next call continues with the record that did not fit.
package struct PublicationWriter {
  private let options: FeedStoreOptions
  package let layout: TopicLayout
  private let limits: RejectedRecordLimit
  private let crash: CrashInjection?
  private var headers = HeaderList()
  /// Whether no part is left to write.
  package private(set) var isIdle = true
  private var nextRecord = 0
  private var nextRejected = 0
  /// The ends of the changesets topic's partitions after the written records.
  package var ends = ChangesetEnds()

  package init(
    _ options: FeedStoreOptions,
    _ layout: TopicLayout,
    _ limits: RejectedRecordLimit,
    crash: CrashInjection? = nil
  ) {
    self.options = options
    self.layout = layout
    self.limits = limits
    self.crash = crash
  }

  /// Begins a part, which the caller passes to each following call of ``write(_:to:)``.
  package mutating func begin() {
    isIdle = false
    nextRecord = 0
    nextRejected = 0
  }

  /// Drops the rest of a part, and the records written in a transaction that may not be committed.
  package mutating func discard() {
    isIdle = true
    ends.discard()
  }

  /// Adopts the offsets at which brokers have written the transaction's changesets.
  ///
  /// - Returns: whether a partition ends later than was known.
  package mutating func correctEnds(by producer: any TransactionClient) -> Bool {
    var isCorrected = false
    for number in ends.written {
      let partition = TopicPartition(topic: options.topics.changesets, partition: number)
      if let end = producer.deliveredEnd(of: partition), ends.correct(number, to: end) { isCorrected = true }
    }
    return isCorrected
  }

  /// Queues the rest of the part.
  package mutating func write(
    _ part: borrowing Publication,
    to producer: some RecordProducer
  ) throws(KafkaError) {
    if isIdle { return }
    while nextRecord < part.records.count {
      try write(part.records[nextRecord], of: part, to: producer)
      nextRecord += 1
    }
    while nextRejected < part.rejected.count {
      try write(part.rejected[nextRejected], to: producer)
      nextRejected += 1
    }
    isIdle = true
  }

  private mutating func write(
    _ record: OutputRecord,
    of part: borrowing Publication,
    to producer: some RecordProducer
  ) throws(KafkaError) {
    headers.removeAll()
    ChangesetHeaders.forEach(record, in: part, source: options.output.source) { name, value in
      headers.append(name, value.rawBuffer)
    }
    try producer.produce(
      topic: options.topics.changesets,
      partition: record.partition,
      key: part.bytes(record.key).rawBuffer,
      value: record.value.map { part.bytes($0).rawBuffer },
      headers: headers,
      timestampMilliseconds: record.time
    )
    ends.add(to: record.partition)
    if let crash {
      crash.reach(.afterProduce)
      if part.isKeyframe(record) { crash.reach(.inKeyframe) }
    }
  }

  private mutating func write(
    _ record: RejectedRecord,
    to producer: some RecordProducer
  ) throws(KafkaError) {
    let message = RejectedMessage(record, limits)
    try producer.produce(
      topic: options.topics.rejected,
      partition: layout.rejectedPartition(of: record.partition),
      key: message.key.bytes,
      value: message.value.bytes,
      headers: message.headers,
      timestampMilliseconds: record.time
    )
  }
}

extension Publication {
  fileprivate func isKeyframe(_ record: OutputRecord) -> Bool {
    guard record.value != nil else { return false }
    return String(decoding: bytes(record.eventID).buffer, as: UTF8.self).contains("/keyframe")
  }
}

/// A rejected record as sent: with headers that give the reason, and cut to its topic's limit.
package struct RejectedMessage: ~Copyable {
  package private(set) var headers = HeaderList()
  package let key: OwnedBytes
  package let value: OwnedBytes

  package init(_ record: RejectedRecord, _ limits: RejectedRecordLimit) {
    var headers = HeaderList()
    RejectedHeaders.forEach(record) { name, value in headers.append(name, value.rawBuffer) }
    let (keyBytes, valueBytes) = limits.cut(
      keyBytes: record.key?.count ?? 0,
      valueBytes: record.value?.count ?? 0,
      headerBytes: headers.byteCount
    )
    if let key = record.key, keyBytes < key.count {
      headers.append("feedstore.key.truncated", String(key.count))
    }
    if let value = record.value, valueBytes < value.count {
      headers.append("feedstore.value.truncated", String(value.count))
    }
    key = OwnedBytes(record.key, first: keyBytes)
    value = OwnedBytes(record.value, first: valueBytes)
    self.headers = headers
  }
}

/// The maximum size of a record on the rejected topic. Longer records are cut, as brokers would refuse them.
///
/// A class, because the topic's own limit becomes known while the workers run.
package final class RejectedRecordLimit: Sendable {
  private let maxMessageBytes: Atomic<Int>

  /// More than Kafka adds to the headers and to a record that is alone in its batch.
  private static let overheadBytes = 1_024

  package init(maxMessageBytes: Int = Int(TopicRequirements.usualMessageBytes)) {
    self.maxMessageBytes = Atomic(maxMessageBytes)
  }

  /// Sets the topic's own limit.
  package func set(maxMessageBytes: Int) {
    self.maxMessageBytes.store(maxMessageBytes, ordering: .relaxed)
  }

  /// The bytes of a record's key and value that can be sent: all if they fit; otherwise the value is cut, and
  /// the key only if it alone is too long.
  package func cut(keyBytes: Int, valueBytes: Int, headerBytes: Int) -> (keyBytes: Int, valueBytes: Int) {
    let limit = maxMessageBytes.load(ordering: .relaxed)
    let available = max(0, limit - Self.overheadBytes - headerBytes)
    let key = min(keyBytes, available)
    return (key, min(valueBytes, available - key))
  }
}
