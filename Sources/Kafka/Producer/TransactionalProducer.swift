import CRdkafka

/// Appends records and commits input offsets atomically, in transactions.
///
/// **One thread.** A producer is not `Sendable`; every call may block.
///
/// **Order of calls.** `initTransactions` once; then `begin`, `produce`…, `sendOffsets`, `commit` or `abort`,
/// repeatedly.
///
/// **How to handle an error** of any of them:
///
/// - `isRetriable`: repeat the same call with the same arguments, with a limit. A `commit` or `abort` that timed out
///   continues in the background, and repeating the call resumes it.
/// - `requiresAbort`: call `abort`, take the delivery errors, and read the input again from the committed offsets.
/// - otherwise, and also if retries of a commit run out: the outcome is *unknown*. Close the producer, create a new one
///   (its `initTransactions` ends the open transaction), and read the committed offsets. Never assume that the
///   transaction was aborted.
public final class TransactionalProducer {
  private let core: ProducerCore

  /// Receives statistics on the producer's thread, inside `poll`, `flush` and `commit`, if `statistics.interval.ms` is
  /// set. Until one of these calls takes them, they wait in memory.
  public var onStatistics: ((ClientStatistics) -> Void)? {
    get { core.onStatistics }
    set { core.onStatistics = newValue }
  }

  /// Creates a producer; the configuration must set `transactional.id`.
  ///
  /// - Parameter log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` with the invalid or missing property and its value.
  public init(configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) throws(KafkaError) {
    guard configuration["transactional.id"]?.isEmpty == false else {
      throw .make(
        .invalidArgument,
        "make a transactional producer",
        detail: "the property transactional.id is not set; give each producer its own"
      )
    }
    var configuration = configuration
    try configuration.require(
      "delivery.report.only.error",
      "false",
      because: "deliveredEnd(of:) follows from the reports"
    )
    core = try ProducerCore(configuration, log: log)
  }

  /// Registers the producer with its coordinator, fences an earlier producer with the same id, and ends a transaction
  /// that it left open.
  ///
  /// - Throws: `_TIMED_OUT`, retriable, if no coordinator can be reached; `CONCURRENT_TRANSACTIONS`, retriable, if brokers do not end
  ///   an earlier transaction in that time.
  public func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError) {
    let client = try core.client("start the transactional producer")
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    // While brokers end an earlier transaction they refuse. librdkafka 2.0.2 then asks again after half a second, or as soon as
    // it is called again.
    var wait = Self.leastRefusedMilliseconds
    while true {
      do throws(KafkaError) {
        return try KafkaError.check(
          rd_kafka_init_transactions(client, min(wait, deadline.remainingMilliseconds)),
          "start the transactional producer within \(timeoutMilliseconds) ms"
        )
      } catch {
        guard error.kind == .concurrentTransactions || error.kind == .timedOut, !deadline.hasPassed else {
          throw error
        }
      }
      wait = min(2 * wait, Self.mostRefusedMilliseconds)
    }
  }

  private static let leastRefusedMilliseconds: Int32 = 20
  private static let mostRefusedMilliseconds: Int32 = 100

  /// Begins a transaction. The broker aborts it after `transaction.timeout.ms`.
  public func begin() throws(KafkaError) {
    let client = try core.client("begin a transaction")
    try KafkaError.check(rd_kafka_begin_transaction(client), "begin a transaction")
  }

  /// Queues a record for the transaction; key, value and headers are copied.
  ///
  /// - Parameters:
  ///   - partition: the partition, from 0; see `Murmur2Partitioner`.
  ///   - key: nil for a null key, which differs from an empty one.
  ///   - value: nil for a null (a tombstone).
  ///   - timestampMilliseconds: the record's time since 1970 UTC; 0 for now.
  /// - Throws: `_QUEUE_FULL`, retriable: poll and call again; `MSG_SIZE_TOO_LARGE`; errors with the partition.
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

  /// Adds input offsets to the transaction. They are committed for the group together with it, or not at all.
  ///
  /// - Parameters:
  ///   - offsets: for each partition, the offset of the next record to read. An empty list does nothing.
  ///   - group: from a new call of `Consumer.groupMetadata`.
  ///   - timeoutMilliseconds: -1, the recommended value, is the rest of the transaction's timeout.
  /// - Throws: an error that requires an abort if the group has removed the consumer.
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

  /// Delivers all queued records and commits the transaction.
  ///
  /// If a record could not be delivered, the commit fails with an error that requires an abort; the delivery errors
  /// name the record.
  ///
  /// - Parameter timeoutMilliseconds: -1, the recommended value, is the rest of the transaction's timeout.
  public func commit(timeoutMilliseconds: Int32 = -1) throws(KafkaError) {
    let client = try core.client("commit the transaction")
    try KafkaError.check(rd_kafka_commit_transaction(client, timeoutMilliseconds), "commit the transaction")
  }

  /// Discards queued records and aborts the transaction.
  ///
  /// Afterwards every record has a delivery report. The discarded records are not delivery errors; those that brokers
  /// rejected before are.
  ///
  /// - Parameter timeoutMilliseconds: -1, the recommended value, is the rest of the transaction's timeout.
  public func abort(timeoutMilliseconds: Int32 = -1) throws(KafkaError) {
    let client = try core.client("abort the transaction")
    try KafkaError.check(rd_kafka_abort_transaction(client, timeoutMilliseconds), "abort the transaction")
  }

  /// The number of records that are queued or in flight, and of delivery reports that wait for a poll.
  public var queuedCount: Int { core.queuedCount }

  /// The offset after the last record that a broker has reported as written to a partition; nil before the first. After
  /// `flush` it takes all records into account, except those whose offset the broker did not report.
  public func deliveredEnd(of partition: TopicPartition) -> Int64? { core.deliveredEnd(of: partition) }

  /// Processes delivery reports; call it regularly, and when the queue is full.
  ///
  /// - Parameter timeoutMilliseconds: how long to wait for reports; 0 does not wait.
  /// - Returns: whether there are delivery errors to take.
  @discardableResult
  public func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    try core.poll(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Returns and clears the failed deliveries. A call that fails may do so before the reports of the records that made
  /// it fail; after `abort` all are there.
  public func takeDeliveryErrors() -> DeliveryErrors { core.takeDeliveryErrors() }

  /// Sends all queued records, and waits until each is delivered or has failed. `commit` includes this.
  ///
  /// - Throws: `_TIMED_OUT`, retriable. Failed records are delivery errors, not errors of this call.
  public func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.flush(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Releases all resources; a second call does nothing.
  ///
  /// An open transaction is not committed: queued records are discarded, and the broker aborts it when the next
  /// producer with this `transactional.id` starts, or after `transaction.timeout.ms`.
  ///
  /// - Throws: `_TIMED_OUT` if the client could not be destroyed in time; that continues in the background.
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.close(delivering: false, timeoutMilliseconds: timeoutMilliseconds)
  }
}
