import Feed
package import FeedKafka
import FeedStore
package import Kafka
import Service

/// Publishes what the store has pending: makes the calls that ``TransactionMachine`` asks for, and applies their results to
/// the store. It owns the producer and the flush in progress.
///
/// Used on the worker's thread only, inside the store's isolation.
final class Publisher {
  /// How long a call may take before the group is polled, and a request to stop is seen.
  static let callMilliseconds: Int32 = 1_000
  /// A group coordinator that moves or starts is back in less.
  private static let offsetsMilliseconds: Int64 = 5_000
  private static let closeMilliseconds: Int32 = 1_000

  private let settings: KafkaSettings
  private let identity: WorkerIdentity
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  private var producer: any TransactionClient
  let transactionalID: String
  /// Nil until the topics are found.
  private var writer: PublicationWriter?
  private var failures = TransactionFailures()
  /// The flush in progress, from ``beginFlush(_:)`` until it is confirmed or rolled back.
  private var flush: Flush?
  private var clock = FlushClock()

  private var log: Log { environment.log }

  init(
    _ identity: WorkerIdentity,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment
  ) throws(KafkaError) {
    self.identity = identity
    self.settings = settings
    self.environment = environment
    status = environment.status.worker(identity.number)
    transactionalID = settings.transactionalID(of: identity)
    let configuration = failures.producer(of: identity, settings)
    producer = try environment.clients.makeProducer(configuration, reportsEnds: true, log: environment.log)
    reportStatistics()
  }

  func setTopics(_ options: FeedStoreOptions, _ layout: TopicLayout) {
    writer = PublicationWriter(options, layout, environment.rejectedLimit, crash: environment.crash)
  }

  /// Nil until the topics are found.
  var layout: TopicLayout? { writer?.layout }

  /// A partition of the changesets topic was found to end at an offset.
  func setEnd(_ end: Int64, of partition: Int32) { writer?.ends.note(end, of: partition) }

  /// How far a partition of the changesets topic reaches at least; nil if nothing is known.
  func end(of partition: Int32) -> Int64? { writer?.ends.end(of: partition) }

  private func reportStatistics() {
    producer.onStatistics = { [status] in status.record(.producer, $0) }
  }

  /// Delivers statistics, which would wait in the producer's queue while nothing is published.
  func serve() { _ = try? producer.poll(timeoutMilliseconds: 0) }

  /// Waits, and serves the producer meanwhile.
  func wait(_ milliseconds: Int32) throws(KafkaError) {
    if milliseconds > 0 { try producer.poll(timeoutMilliseconds: milliseconds) }
  }

  func close(timeoutMilliseconds: Int32 = closeMilliseconds) {
    do {
      try producer.close(timeoutMilliseconds: timeoutMilliseconds)
    } catch {
      log.write(.transactionProducerAbandoned, "the producer did not close in time", ["error": error])
    }
  }

  // MARK: Calls of the producer

  /// What a call needs to know of its worker.
  struct Context {
    let consumer: any GroupConsumer
    let machine: WorkerMachine
    /// Up to where feeds may claim to have applied records of inputs whose offsets have begun again.
    let forgotten: [TopicPartition: Int64]
    /// When to stop repeating what fails, in milliseconds of the monotonic clock.
    var limit: Int64 = .max
  }

  func beginFlush(_ store: isolated FeedStore) {
    clock.begin()
    let start = MonotonicClock.nanoseconds()
    flush = store.beginFlush()
    clock.addPlanning(since: start)
  }

  /// Makes the call of a step of a transaction.
  func call(
    _ step: TransactionMachine.Step,
    _ store: isolated FeedStore,
    _ context: Context
  ) -> WorkerEvent.Outcome {
    let start = MonotonicClock.nanoseconds()
    defer {
      clock.add(step, since: start)
      status.heartbeat()
    }
    do throws(KafkaError) {
      switch step {
      case .begin:
        try producer.begin()
        failures.begin(at: environment.clients.milliseconds())
        environment.crash?.reach(.afterBegin)
      case .write:
        try write(store)
        return .wrote(
          endsTransaction: flush?.isAtEndOfTransaction == true,
          isLast: flush?.isAtEnd == true
        )
      case .addOffsets:
        environment.crash?.reach(.beforeOffsets)
        try addOffsets(store, context)
        environment.crash?.reach(.afterOffsets)
      case .commit:
        defer { environment.crash?.reach(.inCommit) }
        if environment.crash?.isNext(.inCommit) == true {
          // Requested, and not awaited. Only this once: librdkafka 2.0.2 aborts the process when a commit in progress is
          // requested again and its main thread takes longer than the call may.
          try producer.flush(timeoutMilliseconds: Self.callMilliseconds)
          try producer.commit(timeoutMilliseconds: 1)
        } else {
          try producer.commit(timeoutMilliseconds: Self.callMilliseconds)
        }
        if producer.hasLostConnection { return .committedDespiteDisconnect }
      case .abort:
        failures.end(at: environment.clients.milliseconds(), settings)
        try producer.abort(timeoutMilliseconds: Self.callMilliseconds)
        // librdkafka 2.0.2 may report only now what made a call fail.
        takeDeliveryErrors()
        if let refusal = failures.refusal { return .refused(refusal) }
        if let late = failures.lateEnd { return .failed(late) }
      case .replace, .register:
        return try prepare(step, context)
      case .nothing:
        preconditionFailure("there is no call to make")
      }
      return .succeeded
    } catch {
      if error.kind != .queueFull {
        failures.fail(error)
        log.write(
          .transactionCallFailed,
          "transaction call failed",
          ["call": step.rawValue, "error": error]
        )
      }
      return refusal(behind: error).map { .refused($0) } ?? .failed(error)
    }
  }

  /// Replaces or registers the producer, outside of transactions.
  func prepareProducer(_ step: TransactionMachine.Step, _ context: Context) -> WorkerEvent.Outcome {
    do throws(KafkaError) {
      return try prepare(step, context)
    } catch {
      failures.fail(error)
      return .failed(error)
    }
  }

  private func prepare(
    _ step: TransactionMachine.Step,
    _ context: Context
  ) throws(KafkaError) -> WorkerEvent.Outcome {
    switch step {
    case .replace:
      try replaceProducer(context.machine)
    case .register:
      try producer.initTransactions(timeoutMilliseconds: Self.callMilliseconds)
    case .nothing, .begin, .write, .addOffsets, .commit, .abort:
      preconditionFailure("\(step) needs no new producer")
    }
    return .succeeded
  }

  private func replaceProducer(_ machine: WorkerMachine) throws(KafkaError) {
    let reason = ReplacementReason(machine.transactions.state, failures.lossCause)
    close()
    let configuration = failures.producer(of: identity, settings)
    producer = try environment.clients.makeProducer(configuration, reportsEnds: true, log: log)
    status.update {
      $0.replacements[reason, default: 0] += 1
      $0.clients[.producer]?.replace()
    }
    reportStatistics()
  }

  /// Queues the next part of the flush, or the rest of the last.
  private func write(_ store: isolated FeedStore) throws(KafkaError) {
    // The flush stays where it is: a noncopyable value that is taken out cannot be put back when a call throws.
    guard flush != nil, writer != nil else { preconditionFailure("there is no flush to write") }
    if writer!.isIdle {
      let start = MonotonicClock.nanoseconds()
      store.prepareNextPart(of: &flush!)
      clock.addPlanning(since: start)
      writer!.begin()
    }
    try store.withPart(of: flush!) { (part) throws(KafkaError) in try producer.queue(part, by: &writer!) }
  }

  /// Adds the offsets to the transaction, while its records are on their way; and again if a partition ends later than
  /// was added with them, because others have written to it.
  private func addOffsets(_ store: isolated FeedStore, _ context: Context) throws(KafkaError) {
    var isOutdated = false
    repeat {
      let membership = try context.consumer.membership()
      try producer.sendOffsets(
        committedOffsets(store, membership, context),
        membership,
        timeoutMilliseconds: offsetsTime(until: context.limit)
      )
      // The commit would wait for the same.
      try producer.flush(timeoutMilliseconds: Self.callMilliseconds)
      isOutdated = writer?.correctEnds(by: producer) == true
    } while isOutdated
  }

  /// How long adding offsets may take: librdkafka 2.0.2 gives the transaction up if the group's coordinator is not
  /// there in that time.
  private func offsetsTime(until limit: Int64) -> Int32 {
    let left = min(limit, environment.stop.deadline ?? .max) - environment.clients.milliseconds()
    return Int32(max(Int64(Self.callMilliseconds), min(left, Self.offsetsMilliseconds)))
  }

  /// What the transaction commits, as the group keeps it. A transaction that is not its flush's last repeats the offsets
  /// that are committed: that shows the group that the partitions are still this worker's.
  private func committedOffsets(
    _ store: isolated FeedStore,
    _ membership: any GroupMembership,
    _ context: Context
  ) -> [TopicPartition: CommittedOffset] {
    let positions = flush?.isAtEnd == true ? covered(store) : context.machine.positions.resume
    let author = membership.member.map { CommitMetadata.Author(member: $0, producer: transactionalID) }
    let entries = positions.map { position in
      let metadata = CommitMetadata(
        changesetsEnd: writer?.ends.endIfCommitted(of: position.partition),
        hasSettings: store.hasSettings(partition: position.partition, after: flush!),
        partitions: layout?.inputPartitions,
        // After that offset, no record is left that a feed could take for one that it has applied.
        forgotten: context.forgotten[position.topicPartition].flatMap { position.offset <= $0 ? $0 : nil },
        author: author
      )
      return (position.topicPartition, CommittedOffset(position.offset, metadata: metadata.text))
    }
    return Dictionary(entries) { $1 }
  }

  /// Where the input goes on after what the flush covers.
  private func covered(_ store: isolated FeedStore) -> [TopicPartitionOffset] {
    store.withPart(of: flush!) { part in
      part.covered.map {
        TopicPartitionOffset(
          topic: String(decoding: $0.topic, as: UTF8.self),
          partition: $0.partition,
          offset: $0.nextOffset
        )
      }
    }
  }

  // MARK: Refused records

  /// Why a record of the transaction is refused, if that is why a call has failed; nil if repeating may help.
  ///
  /// If a record is refused during another call, librdkafka 2.0.2 only reports that the state is wrong (`_STATE`). Taken
  /// for a transient error, the same record would be sent again and again.
  private func refusal(behind error: KafkaError) -> KafkaError? {
    if error.isRetriable || error.kind == .queueFull { return nil }
    do throws(KafkaError) {
      guard try producer.poll(timeoutMilliseconds: 0) else { return nil }
    } catch {
      return nil
    }
    takeDeliveryErrors()
    return failures.refusal
  }

  /// Takes the records that could not be delivered. If they came in too large a batch, the next producer's are smaller.
  private func takeDeliveryErrors() {
    let errors = producer.takeDeliveryErrors()
    guard let bytes = failures.take(errors, batchBytes: settings.batchBytes) else { return }
    log.write(
      .transactionBatchTooLarge,
      "batch too large for a segment; sending smaller batches",
      ["bytes": bytes]
    )
  }

  /// Logs the records that could not be delivered, after the transaction's end.
  func logUndelivered() {
    for error in failures.takeUndelivered() {
      log.write(.transactionRecordUndelivered, "record not delivered", ["error": error])
    }
  }

  // MARK: Ends of transactions

  /// A transaction was committed.
  ///
  /// - Parameter milliseconds: how long the flush has taken.
  /// - Returns: where the input goes on, what the flush rejected, and what changed nothing, if it was the flush's last transaction.
  func confirm(
    _ store: isolated FeedStore,
    isWhole: Bool,
    milliseconds: Int64
  ) -> ([TopicPartitionOffset], [RejectedRecord], unchanged: [(partition: Int32, record: TopicOffset)]) {
    environment.crash?.reach(.afterCommit)
    writer?.ends.commit()
    failures.commit()
    status.ended(.committed)
    let offsets = isWhole ? covered(store) : []
    if isWhole { store.notePublication(milliseconds: milliseconds) }
    guard let committed = flush.take() else { preconditionFailure("there is no flush to confirm") }
    let (rejected, unchanged) =
      isWhole ? store.withPart(of: committed) { ($0.rejected, $0.unchanged) } : ([], [])
    flush = store.confirm(committed)
    return (offsets, rejected, unchanged)
  }

  var stages: FlushClock { clock }

  /// A transaction was aborted: the store goes back to what is published.
  func withdraw(_ store: isolated FeedStore, inARow: Int) {
    rollBack(store)
    status.ended(.withdrawn, withdrawnInARow: inARow)
    log.write(
      .transactionAborted,
      "transaction aborted; rereading its input",
      [
        "cause": failures.cause, "undelivered": LogFigure.count(failures.undelivered.count),
        "inARow": LogFigure.count(inARow),
      ]
    )
    logUndelivered()
  }

  /// The outcome of a transaction is unknown: the feeds are restored when another producer is registered.
  func lose(_ store: isolated FeedStore, _ transactions: TransactionMachine, waitMilliseconds: Int32) {
    rollBack(store)
    status.ended(.unknown, withdrawnInARow: transactions.withdrawnInARow)
    takeDeliveryErrors()
    failures.end(at: environment.clients.milliseconds(), settings)
    failures.lose()
    log.write(
      .transactionOutcomeUnknown,
      "outcome of a transaction unknown; replacing the producer and restoring feeds",
      [
        "cause": failures.cause,
        "inARow": LogFigure.count(transactions.replacedInARow),
        "wait": LogFigure.duration(milliseconds: Int64(waitMilliseconds)),
      ]
    )
    logUndelivered()
  }

  /// Rolls back the flush in progress, if there is one.
  func rollBack(_ store: isolated FeedStore) {
    if let flush = flush.take() { store.rollBack(flush) }
    writer?.discard()
  }
}

/// What has gone wrong with transactions and was not reported yet; and because of it, how large batches may be, and how long
/// transactions may take.
package struct TransactionFailures {
  package init() {}

  /// What a call failed with last, since the last commit.
  private(set) var last: KafkaError?
  /// What the producer that is to be replaced was lost for.
  private(set) var lossCause: KafkaError?
  /// Records of the transaction that could not be delivered.
  private(set) var undelivered = DeliveryErrors()
  private(set) var batchLimit = BatchLimit()
  private var isRecordTooLarge = false
  /// Transactions in a row that failed as they took the time they had.
  private(set) var slowInARow = 0
  /// When the transaction under way was begun, in milliseconds of the monotonic clock; nil if none is.
  private var start: Int64?

  /// The configuration of the next producer.
  package func producer(of identity: WorkerIdentity, _ settings: KafkaSettings) -> KafkaConfiguration {
    settings.transactionalProducer(identity, slowInARow: slowInARow, batchLimit)
  }

  package mutating func fail(_ error: KafkaError) { last = error }

  /// A transaction was begun.
  package mutating func begin(at now: Int64) { start = now }

  /// The transaction will not be committed; said more than once, it counts once.
  package mutating func end(at now: Int64, _ settings: KafkaSettings) {
    guard let begun = start else { return }
    start = nil
    // What ends by its time may do so a little before.
    let limit = settings.transactionMilliseconds(slowInARow: slowInARow)
    if now - begun >= Int64(limit) * 3 / 4 { slowInARow += 1 }
  }

  package mutating func commit() { (last, start, slowInARow) = (nil, nil, 0) }

  package mutating func lose() { lossCause = last }

  /// Records could not be delivered. If they came in too large a batch, the next producer's are smaller.
  ///
  /// - Parameter batchBytes: the maximum batch size before the first refusal.
  /// - Returns: the new limit in bytes; nil if it stays.
  package mutating func take(_ errors: DeliveryErrors, batchBytes: Int) -> Int? {
    let wasTooLarge = undelivered.errors.contains(where: Self.isTooLarge)
    undelivered.append(errors)
    // Once for each transaction: its other batches were made before.
    guard !wasTooLarge, errors.errors.contains(where: Self.isTooLarge) else { return nil }
    if batchLimit.isLeast {
      isRecordTooLarge = true
      return nil
    }
    batchLimit.shrink(from: batchBytes)
    return batchLimit.bytes
  }

  private static func isTooLarge(_ error: KafkaError) -> Bool { error.kind == .recordListTooLarge }

  /// The first error of a record that is refused for good.
  package var refusal: KafkaError? {
    undelivered.errors.first { $0.kind.needsSomebody || isRecordTooLarge && Self.isTooLarge($0) }
  }

  /// Why a record is refused whose transaction a late request has ended; what was written before may be committed.
  package var lateEnd: KafkaError? { undelivered.errors.first { $0.kind == .invalidTransactionState } }

  /// Why a transaction has ended, for the log.
  package var cause: String { last.map { "\($0)" } ?? "partitions were lost, or there was no time left" }

  /// Hands out the errors of records to report them, and forgets them and what the last call failed with.
  package mutating func takeUndelivered() -> [KafkaError] {
    defer {
      undelivered = DeliveryErrors()
      isRecordTooLarge = false
      last = nil
    }
    return undelivered.errors
  }
}

/// Why a worker's producer was replaced.
enum ReplacementReason: String, CaseIterable, Sendable {
  case aborted
  /// It lost a connection during its last transaction.
  case connectionLost = "connection-lost"
  /// Another producer has its transactional id, or its epoch was raised.
  case fenced
  /// librdkafka gave it up.
  case fatal
  /// It is not known whether its transaction was committed.
  case unknownOutcome = "unknown-outcome"

  /// - Parameters:
  ///   - state: the machine's, when a producer is to be replaced.
  ///   - error: what a call failed with last; nil if there was no time left.
  init(_ state: TransactionMachine.State, _ error: KafkaError?) {
    switch state {
    case .replacing(.withdrawal): self = .aborted
    case .replacing(.beginning): self = .connectionLost
    default:
      switch error?.kind {
      case .fenced, .producerFenced, .invalidProducerEpoch, .invalidTransactionState: self = .fenced
      default: self = error?.isFatal == true ? .fatal : .unknownOutcome
      }
    }
  }
}

/// What became of a transaction.
package enum TransactionOutcome: String, CaseIterable, Sendable {
  case committed
  /// It was aborted, and its input is read again.
  case withdrawn
  /// It is not known whether it was committed: feeds are restored.
  case unknown
  /// It was aborted for a reason that an operator has to remove.
  case refused
}
