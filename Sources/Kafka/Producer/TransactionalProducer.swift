import CRdkafka
import Synchronization

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
public class TransactionalProducer: Producer {
  /// Creates a producer; the configuration must set `transactional.id`.
  ///
  /// - Parameters:
  ///   - reportsEnds: whether ``deliveredEnd(of:)`` is needed. Without it only failures are reported, which takes less time.
  ///   - log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` with the invalid or missing property and its value.
  public init(
    configuration: KafkaConfiguration,
    reportsEnds: Bool = true,
    log: @escaping KafkaLogHandler
  ) throws(KafkaError) {
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
      reportsEnds ? "false" : "true",
      because: "deliveredEnd(of:) follows from the reports"
    )
    try super.init(configuration, log)
  }

  /// Registers the producer with its coordinator, fences an earlier producer with the same id, and ends a transaction
  /// that it left open.
  ///
  /// - Throws: `_TIMED_OUT`, retriable, if no coordinator can be reached; `CONCURRENT_TRANSACTIONS`, retriable, if brokers do not end
  ///   an earlier transaction in that time.
  public func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError) {
    let client = try client("start the transactional producer")
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    // While brokers end an earlier transaction they refuse. librdkafka 2.0.2 then repeats the request after half a second, or
    // at the next call.
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
    let client = try client("begin a transaction")
    closedBefore = closedConnections
    try KafkaError.check(rd_kafka_begin_transaction(client), "begin a transaction")
  }

  private var closedBefore = 0
  private var closedConnections: Int { handle?.context.closedConnections.load(ordering: .relaxed) ?? 0 }

  /// Whether a connection was closed during the last committed transaction.
  ///
  /// librdkafka then repeats requests without a response. The first copy may reach its broker late, in the next transaction of the
  /// same producer, and end it or replace its offsets: Kafka cannot distinguish the two before KIP-890, part 2. So use another
  /// producer for the next transaction: it has another epoch.
  public private(set) var hasLostConnection = false

  /// Adds input offsets to the transaction. They are committed for the group with the transaction, or not at
  /// all.
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
    let client = try client("add offsets to the transaction")
    if offsets.isEmpty { return }
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
    let client = try client("commit the transaction")
    try KafkaError.check(rd_kafka_commit_transaction(client, timeoutMilliseconds), "commit the transaction")
    hasLostConnection = closedConnections != closedBefore
  }

  /// Discards queued records and aborts the transaction.
  ///
  /// Afterwards every record has a delivery report. The discarded records are not delivery errors; those that brokers
  /// rejected before are.
  ///
  /// - Parameter timeoutMilliseconds: -1, the recommended value, is the rest of the transaction's timeout.
  public func abort(timeoutMilliseconds: Int32 = -1) throws(KafkaError) {
    let client = try client("abort the transaction")
    try KafkaError.check(rd_kafka_abort_transaction(client, timeoutMilliseconds), "abort the transaction")
  }

  /// The offset after the last record that a broker has reported as written to a partition; nil before the first. After
  /// `flush` it takes all records into account, except those whose offset the broker did not report.
  public func deliveredEnd(of partition: TopicPartition) -> Int64? {
    guard let handle, let index = topics.index(ofName: partition.topic, client: handle.client) else {
      return nil
    }
    let place = CallbackContext.HandlePartition(
      topic: topics.pointer(at: index),
      partition: partition.partition
    )
    return handle.context.deliveredEnds[place]
  }

  /// Releases all resources; a second call has no effect.
  ///
  /// An open transaction is not committed: queued records are discarded, and the broker aborts it when the next
  /// producer with this `transactional.id` starts, or after `transaction.timeout.ms`.
  ///
  /// - Throws: `_TIMED_OUT` if the client could not be destroyed in time; that continues in the background.
  public override func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    try close(delivering: false, timeoutMilliseconds: timeoutMilliseconds)
  }
}
