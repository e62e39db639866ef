import Feed
import FeedStore
import Kafka

/// Writes the parts of a flush into one transaction, with the input offsets they cover.
///
/// Calls that can be made again are, while `hasTime` says so; what then remains is a ``FlushFailure``.
struct FlushTransaction {
  private let producer: TransactionalProducer
  private let options: FeedStoreOptions
  private let layout: TopicLayout
  private var headers = HeaderList()
  private let recovery = FlushRecovery()

  /// How long one call may block, so that a request to stop is seen.
  private static let sliceMilliseconds: Int32 = 1_000
  private static let queueWaitMilliseconds: Int32 = 100

  init(_ producer: TransactionalProducer, _ options: FeedStoreOptions, _ layout: TopicLayout) {
    self.producer = producer
    self.options = options
    self.layout = layout
  }

  /// Registers the producer, waiting for the brokers while there is time.
  func start(hasTime: () -> Bool) throws(KafkaError) {
    try Self.retrying(hasTime) { () throws(KafkaError) in
      try producer.initTransactions(timeoutMilliseconds: Self.sliceMilliseconds)
    }
  }

  func begin() throws(FlushFailure) {
    // It does not wait for anybody.
    let isDone = { false }
    try attempt(.producing, isDone) { () throws(KafkaError) in try producer.begin() }
  }

  /// Queues the records of one part.
  mutating func write(_ part: Publication, hasTime: () -> Bool) throws(FlushFailure) {
    for record in part.records {
      headers.removeAll()
      ChangesetHeaders.forEach(record, in: part, source: options.output.source) { name, value in
        headers.append(name, value.rawBuffer)
      }
      try produce(
        options.topics.changesets,
        record.partition,
        part.bytes(record.key).rawBuffer,
        record.value.map { part.bytes($0).rawBuffer },
        record.time,
        hasTime
      )
    }
    for record in part.rejected { try write(record, hasTime) }
  }

  private mutating func write(_ record: RejectedRecord, _ hasTime: () -> Bool) throws(FlushFailure) {
    headers.removeAll()
    RejectedHeaders.forEach(record) { name, value in headers.append(name, value.rawBuffer) }
    // Not closures: typed errors do not pass through `withUnsafeBytes`.
    let key = OwnedBytes(record.key)
    let value = OwnedBytes(record.value)
    try produce(
      options.topics.rejected,
      layout.rejectedPartition(of: record.partition),
      key.bytes,
      value.bytes,
      record.timestamp,
      hasTime
    )
  }

  private func produce(
    _ topic: String,
    _ partition: Int32,
    _ key: UnsafeRawBufferPointer?,
    _ value: UnsafeRawBufferPointer?,
    _ timestamp: Int64,
    _ hasTime: () -> Bool
  ) throws(FlushFailure) {
    try attempt(.producing, hasTime) { () throws(KafkaError) in
      do throws(KafkaError) {
        try producer.produce(
          topic: topic,
          partition: partition,
          key: key,
          value: value,
          headers: headers,
          timestampMilliseconds: timestamp
        )
      } catch {
        // A full queue empties while it is polled.
        if error.kind == .queueFull { try producer.poll(timeoutMilliseconds: Self.queueWaitMilliseconds) }
        throw error
      }
    }
  }

  /// Adds the offsets and commits everything.
  func commit(
    _ covered: [TopicPartitionOffset],
    _ group: ConsumerGroupMetadata,
    hasTime: () -> Bool
  ) throws(FlushFailure) {
    try attempt(.producing, hasTime) { () throws(KafkaError) in
      try producer.sendOffsets(covered, group, timeoutMilliseconds: Self.sliceMilliseconds)
    }
    try attempt(.committing, hasTime) { () throws(KafkaError) in
      try producer.commit(timeoutMilliseconds: Self.sliceMilliseconds)
    }
  }

  /// Withdraws everything.
  ///
  /// - Returns: what could not be delivered, which is often the cause.
  func abort(hasTime: () -> Bool) throws(KafkaError) -> DeliveryErrors {
    let undelivered = producer.takeDeliveryErrors()
    try Self.retrying(hasTime) { () throws(KafkaError) in
      try producer.abort(timeoutMilliseconds: Self.sliceMilliseconds)
    }
    return undelivered
  }

  /// Waits, serving the producer meanwhile.
  func wait(milliseconds: Int32) throws(KafkaError) {
    if milliseconds > 0 { try producer.poll(timeoutMilliseconds: milliseconds) }
  }

  private func attempt(
    _ stage: FlushRecovery.Stage,
    _ hasTime: () -> Bool,
    _ call: () throws(KafkaError) -> Void
  ) throws(FlushFailure) {
    while true {
      do {
        return try call()
      } catch {
        let action = recovery.action(for: error, in: stage, hasTime: hasTime())
        guard action == .retry else { throw FlushFailure(stage: stage, error: error) }
      }
    }
  }

  private static func retrying(
    _ hasTime: () -> Bool,
    _ call: () throws(KafkaError) -> Void
  ) throws(KafkaError) {
    while true {
      do {
        return try call()
      } catch {
        guard error.isRetriable, !error.isFatal, hasTime() else { throw error }
      }
    }
  }
}
