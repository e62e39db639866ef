import FeedKafka
import FeedWorker
import Kafka
import Service

/// Writes records in transactions: makes the calls that ``TransactionMachine`` asks for, and repeats them.
///
/// Used on one thread. While it repeats calls it has its owner serve the group.
final class IngestProducer {
  /// The transaction has ended.
  struct Ended: Error {
    /// If it is unknown, the committed offsets tell; nil if there was no time left.
    let outcome: TransactionOutcome?
  }

  /// What a transaction commits, asked for when it is.
  typealias Offsets = () throws(KafkaError) -> ([TopicPartition: CommittedOffset], any GroupMembership)

  private let settings: KafkaSettings
  private let identity: WorkerIdentity
  private let environment: WorkerEnvironment
  @exclusivity(unchecked) private var producer: TransactionalProducer
  @exclusivity(unchecked) private var machine = TransactionMachine()
  private var failures = TransactionFailures()
  private var slow = SlowTransactions()
  private var offsets: Offsets = { () throws(KafkaError) in
    preconditionFailure("a transaction without offsets")
  }
  /// How large records may be.
  private(set) var limits: RecordLimits
  /// Bytes of the open transaction.
  @exclusivity(unchecked) private(set) var bytes = 0
  /// Called between calls.
  var serve: () throws -> Void = {}

  private static let callMilliseconds: Int32 = 1_000
  /// A group coordinator that moves is back in less; librdkafka 2.0.2 gives the transaction up otherwise.
  private static let offsetsMilliseconds: Int32 = 5_000

  init(
    _ settings: KafkaSettings,
    _ identity: WorkerIdentity,
    _ environment: WorkerEnvironment
  ) throws(KafkaError) {
    (self.settings, self.identity, self.environment) = (settings, identity, environment)
    let log = environment.log
    producer = try TransactionalProducer(
      configuration: settings.transactionalProducer(identity, slowInARow: 0),
      log: log.kafkaHandler
    )
    limits = RecordLimits(settings, producer, log: log)
  }

  private var log: Log { environment.log }
  var isOpen: Bool { machine.isInTransaction }

  func close(timeoutMilliseconds: Int32) { try? producer.close(timeoutMilliseconds: timeoutMilliseconds) }

  /// Delivers reports, which would wait in the producer's queue.
  func poll(_ milliseconds: Int32 = 0) throws(KafkaError) {
    try producer.poll(timeoutMilliseconds: milliseconds)
  }

  /// Has Kafka know the producer, or one that takes its place.
  func register() throws {
    if !isOpen { try advance { $0.isReady } }
  }

  /// Begins a transaction, if none is open.
  func begin() throws {
    if isOpen { return }
    bytes = 0
    machine.begin()
    slow.begin(at: MonotonicClock.milliseconds())
    try advance { $0.state == .writing }
  }

  /// Queues a record.
  func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList = HeaderList(),
    timestampMilliseconds: Int64 = 0
  ) throws {
    bytes += (key?.count ?? 0) + (value?.count ?? 0) + headers.byteCount
    while true {
      do throws(KafkaError) {
        try producer.produce(
          topic: topic,
          partition: partition,
          key: key,
          value: value,
          headers: headers,
          timestampMilliseconds: timestampMilliseconds
        )
        environment.crash?.reach(.afterProduce)
        return
      } catch {
        try handle(fail(.write, error))
        if machine.state != .writing { try advance { _ in false } }
        try serve()
      }
    }
  }

  /// Commits the open transaction.
  func commit(_ offsets: @escaping Offsets) throws {
    self.offsets = offsets
    machine.finishWriting()
    do {
      try advance { _ in false }
    } catch let ended as Ended where ended.outcome == .committed {}
  }

  /// Aborts the open transaction.
  func abort() throws {
    try handle(machine.giveUp())
    try advance { _ in false }
  }

  /// - Throws: ``Ended`` when the transaction has ended; ``DaemonError`` if an operator has to act.
  private func advance(until isThere: (TransactionMachine) -> Bool) throws {
    while !isThere(machine) {
      try serve()
      if let deadline = environment.stop.deadline, MonotonicClock.milliseconds() > deadline {
        throw Ended(outcome: nil)
      }
      try handle(call(machine.step))
    }
  }

  private func handle(_ effect: TransactionMachine.Effect) throws {
    var outcome = TransactionOutcome.committed
    switch effect {
    case .proceed: return
    case .retry(let milliseconds), .pause(let milliseconds): return try poll(milliseconds)
    case .stop(let error):
      logUndelivered()
      throw DaemonError.cannot("write", error)
    case .committed:
      failures.commit()
      slow.commit()
    case .withdrawn(let milliseconds):
      log.write(.transactionAborted, "transaction aborted; rereading its input", ["cause": failures.cause])
      outcome = .withdrawn
      try poll(milliseconds)
    case .lost(let milliseconds):
      failures.lose()
      log.write(
        .transactionOutcomeUnknown,
        "outcome of a transaction unknown; replacing the producer",
        ["cause": failures.cause]
      )
      outcome = .unknown
      try poll(milliseconds)
    }
    logUndelivered()
    throw Ended(outcome: outcome)
  }

  private func logUndelivered() {
    takeDeliveryErrors()
    for error in failures.takeUndelivered() {
      log.write(.transactionRecordUndelivered, "record not delivered", ["error": error])
    }
  }

  private func call(_ step: TransactionMachine.Step) -> TransactionMachine.Effect {
    do throws(KafkaError) {
      switch step {
      case .register: try producer.initTransactions(timeoutMilliseconds: Self.callMilliseconds)
      case .begin: try producer.begin()
      case .addOffsets:
        let (positions, membership) = try offsets()
        try producer.sendOffsets(positions, membership, timeoutMilliseconds: Self.offsetsMilliseconds)
        environment.crash?.reach(.afterOffsets)
      case .commit:
        let isLast = environment.crash?.isNext(.inCommit) == true
        // Requested, and not awaited, before the process ends.
        if isLast { try producer.flush(timeoutMilliseconds: Self.callMilliseconds) }
        defer { environment.crash?.reach(.inCommit) }
        try producer.commit(timeoutMilliseconds: isLast ? 1 : Self.callMilliseconds)
      case .abort:
        try producer.abort(timeoutMilliseconds: Self.callMilliseconds)
        // librdkafka 2.0.2 may report only now what made a call fail.
        takeDeliveryErrors()
        if let refusal = failures.refusal { return machine.refuse(refusal) }
      case .replace:
        close(timeoutMilliseconds: Self.callMilliseconds)
        producer = try TransactionalProducer(
          configuration: settings.transactionalProducer(
            identity,
            slowInARow: slow.inARow,
            failures.batchLimit
          ),
          log: log.kafkaHandler
        )
        limits = RecordLimits(settings, producer, log: log)
      case .write, .nothing: preconditionFailure("there is no call to make")
      }
      return machine.succeed()
    } catch {
      return fail(step, error)
    }
  }

  private func fail(_ step: TransactionMachine.Step, _ error: KafkaError) -> TransactionMachine.Effect {
    guard error.kind != .queueFull else { return machine.fail(error) }
    failures.fail(error)
    let timeout = settings.transactionMilliseconds(slowInARow: slow.inARow)
    slow.fail(at: MonotonicClock.milliseconds(), timeoutMilliseconds: timeout)
    log.write(.transactionCallFailed, "transaction call failed", ["call": step.rawValue, "error": error])
    // If a record is refused during another call, librdkafka 2.0.2 only reports that the state is wrong (`_STATE`).
    if !error.isRetriable, (try? producer.poll(timeoutMilliseconds: 0)) == true { takeDeliveryErrors() }
    return failures.refusal.map { machine.refuse($0) } ?? machine.fail(error)
  }

  private func takeDeliveryErrors() {
    _ = failures.take(producer.takeDeliveryErrors(), batchBytes: settings.batchBytes)
  }
}
