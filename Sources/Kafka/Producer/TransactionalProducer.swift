import CRdkafka

/// Appends records and commits input offsets in transactions: all of one or none.
///
/// **One thread.** A producer is not `Sendable`; every call may block.
///
/// **Order of calls.** `initTransactions` once; then `begin`, `produce`…, `sendOffsets`, `commit` or
/// `abort`, again and again.
///
/// **What to do about an error** of any of them:
///
/// - `isRetriable`: call the same again, with the same arguments and a bound. A `commit` or `abort` that
///   timed out goes on in the background, and calling it again resumes it.
/// - `requiresAbort`: `abort`, and read the input again from the committed offsets.
/// - otherwise, also when retries of a commit run out: its outcome is *not known*. Close the producer,
///   make a new one (its `initTransactions` ends what the old one left open), and read the committed
///   offsets. Never assume that it was aborted.
public final class TransactionalProducer {
  private let core: ProducerCore

  /// Told what the client counts, on the producer's thread, inside `poll`, `flush` and `commit`; each
  /// `statistics.interval.ms`, if that is set. What is not taken by such a call in time waits, and takes memory.
  public var onStatistics: ((ClientStatistics) -> Void)? {
    get { core.onStatistics }
    set { core.onStatistics = newValue }
  }

  /// Makes a producer; `transactional.id` must be in the configuration.
  ///
  /// - Parameter log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` naming the property and the value that is not accepted, or missing.
  public init(configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) throws(KafkaError) {
    guard configuration["transactional.id"]?.isEmpty == false else {
      throw .make(
        .invalidArgument,
        "make a transactional producer",
        detail: "the property transactional.id is not set; give each producer its own"
      )
    }
    core = try ProducerCore(configuration, log: log)
  }

  /// Registers the producer with its coordinator, ends a transaction that an earlier one left open, and
  /// shuts out that earlier one.
  ///
  /// - Throws: `_TIMED_OUT`, retriable, while no coordinator can be reached.
  public func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError) {
    let client = try core.client("start the transactional producer")
    try KafkaError.check(
      rd_kafka_init_transactions(client, timeoutMilliseconds),
      "start the transactional producer within \(timeoutMilliseconds) ms"
    )
  }

  /// Begins a transaction; it ends by itself, aborted, after `transaction.timeout.ms`.
  public func begin() throws(KafkaError) {
    let client = try core.client("begin a transaction")
    try KafkaError.check(rd_kafka_begin_transaction(client), "begin a transaction")
  }

  /// Queues a record for the transaction; key, value and headers are copied.
  ///
  /// - Parameters:
  ///   - partition: the partition, from 0; see `Murmur2Partitioner`.
  ///   - key: nil is a null key, which is not the same as an empty one.
  ///   - value: nil is a null, a tombstone.
  ///   - timestampMilliseconds: the record's time since 1970 UTC; 0 is now.
  /// - Throws: `_QUEUE_FULL`, retriable: poll and call again; `MSG_SIZE_TOO_LARGE`; errors naming the
  ///   partition.
  public func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList = HeaderList(),
    timestampMilliseconds: Int64 = 0
  ) throws(KafkaError) {
    try core.produce(
      topic: topic,
      partition: partition,
      key: key,
      value: value,
      headers: headers,
      timestampMilliseconds: timestampMilliseconds
    )
  }

  /// Adds input offsets to the transaction: they are committed for the group with it, or not at all.
  ///
  /// - Parameters:
  ///   - offsets: of each partition the offset of the next record to read. None is allowed, and does nothing.
  ///   - group: from `Consumer.groupMetadata`, taken now.
  ///   - timeoutMilliseconds: -1 is what is left of the transaction's time, and the advice.
  /// - Throws: an error that requires an abort if the group has moved on without the consumer.
  public func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ group: ConsumerGroupMetadata,
    timeoutMilliseconds: Int32 = -1
  ) throws(KafkaError) {
    let client = try core.client("add offsets to the transaction")
    if offsets.isEmpty {
      return
    }
    let list = TopicPartitionList(offsets)
    let error = rd_kafka_send_offsets_to_transaction(client, list.pointer, group.pointer, timeoutMilliseconds)
    try KafkaError.check(error, "add the offsets \(offsets.text) to the transaction")
  }

  /// Delivers what is queued and commits the transaction.
  ///
  /// A record that could not be delivered fails the commit with an error that requires an abort; which it
  /// was is among the delivery errors.
  ///
  /// - Parameter timeoutMilliseconds: -1 is what is left of the transaction's time, and the advice.
  public func commit(timeoutMilliseconds: Int32 = -1) throws(KafkaError) {
    let client = try core.client("commit the transaction")
    try KafkaError.check(rd_kafka_commit_transaction(client, timeoutMilliseconds), "commit the transaction")
  }

  /// Throws away what is queued and aborts the transaction.
  ///
  /// Delivery errors of the transaction, and those that the throwing away makes, are forgotten: take them
  /// before.
  ///
  /// - Parameter timeoutMilliseconds: -1 is what is left of the transaction's time, and the advice.
  public func abort(timeoutMilliseconds: Int32 = -1) throws(KafkaError) {
    let client = try core.client("abort the transaction")
    try KafkaError.check(rd_kafka_abort_transaction(client, timeoutMilliseconds), "abort the transaction")
    _ = core.takeDeliveryErrors()
  }

  /// The number of records that are queued or on their way, and of reports that wait for a poll.
  public var queuedCount: Int { core.queuedCount }

  /// Takes note of what has been delivered; call it when the queue is full, and now and then.
  ///
  /// - Parameter timeoutMilliseconds: how long to wait for news; 0 does not wait.
  /// - Returns: whether there are delivery errors to take.
  @discardableResult
  public func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    try core.poll(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Gives, and forgets, the records that could not be delivered.
  public func takeDeliveryErrors() -> DeliveryErrors { core.takeDeliveryErrors() }

  /// Sends what is queued and waits until every record is delivered or has failed; `commit` does so by
  /// itself.
  ///
  /// - Throws: `_TIMED_OUT`, retriable. A record that failed is no error here but a delivery error.
  public func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.flush(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Frees everything; closing again does nothing.
  ///
  /// A transaction that is open is not committed: what is queued is thrown away, and the broker aborts it
  /// when the next producer of this `transactional.id` starts or `transaction.timeout.ms` is over.
  ///
  /// - Throws: `_TIMED_OUT` if the client could not be torn down in time; it goes in the background.
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.close(delivering: false, timeoutMilliseconds: timeoutMilliseconds)
  }
}
