import Diagnostics
package import FeedKafka
package import FeedStatus
package import Kafka

/// A worker's transactional producer: makes the calls that ``TransactionMachine`` requests, and records the failures.
///
/// Used on the worker's thread only.
package final class TransactionCaller {
  /// The maximum time of a call before the worker polls the group and checks for a request to stop.
  package static let callMilliseconds: Int32 = 1_000
  /// A group coordinator that moves or starts takes less. After this time librdkafka 2.0.2 gives up the transaction.
  package static let offsetsMilliseconds: Int32 = 5_000

  private let settings: KafkaSettings
  private let identity: WorkerIdentity
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  private let reportsEnds: Bool
  package private(set) var producer: any TransactionClient
  private var failures = TransactionFailures()

  private var log: Log { environment.log }

  /// - Parameter reportsEnds: whether ``TransactionClient/deliveredEnd(of:)`` is needed.
  package init(
    _ identity: WorkerIdentity,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment,
    reportsEnds: Bool
  ) throws(KafkaError) {
    self.identity = identity
    self.settings = settings
    self.environment = environment
    self.reportsEnds = reportsEnds
    status = environment.status.worker(identity.number)
    let configuration = failures.producer(of: identity, settings)
    producer = try environment.clients.makeProducer(
      configuration,
      reportsEnds: reportsEnds,
      log: environment.log
    )
    reportStatistics()
  }

  private func reportStatistics() {
    producer.onStatistics = { [status] in status.record(.producer, $0) }
  }

  /// Delivers statistics, which would otherwise wait in the producer's queue while nothing is published.
  package func serve() { _ = try? producer.poll(timeoutMilliseconds: 0) }

  /// Waits, and serves the producer meanwhile.
  package func wait(_ milliseconds: Int32) throws(KafkaError) {
    if milliseconds > 0 { try producer.poll(timeoutMilliseconds: milliseconds) }
  }

  package func close(timeoutMilliseconds: Int32 = callMilliseconds) {
    do {
      try producer.close(timeoutMilliseconds: timeoutMilliseconds)
    } catch {
      log.write(.transactionProducerAbandoned, "the producer did not close in time", ["error": error])
    }
  }

  // MARK: Calls

  /// Makes the call of a step of a transaction.
  ///
  /// - Parameters:
  ///   - machine: the machine that requests the step.
  ///   - write: queues records.
  ///   - addOffsets: adds offsets to the transaction, and waits until the brokers have its records.
  package func call(
    _ step: TransactionMachine.Step,
    _ machine: TransactionMachine,
    write: () throws(KafkaError) -> TransactionMachine.Outcome,
    addOffsets: () throws(KafkaError) -> Void
  ) -> TransactionMachine.Outcome {
    do throws(KafkaError) {
      switch step {
      case .begin:
        try producer.begin()
        failures.begin(at: environment.milliseconds())
        environment.crash?.reach(.afterBegin)
      case .write:
        return try write()
      case .addOffsets:
        environment.crash?.reach(.beforeOffsets)
        try addOffsets()
        environment.crash?.reach(.afterOffsets)
      case .commit:
        defer { environment.crash?.reach(.inCommit) }
        if environment.crash?.isNext(.inCommit) == true {
          // Requested without waiting, and only here: librdkafka 2.0.2 aborts the process when a commit in
          // progress is requested again and its main thread takes longer than the call's timeout.
          try producer.flush(timeoutMilliseconds: Self.callMilliseconds)
          try producer.commit(timeoutMilliseconds: 1)
        } else {
          try producer.commit(timeoutMilliseconds: Self.callMilliseconds)
        }
        if producer.hasLostConnection { return .committedDespiteDisconnect }
      case .abort:
        failures.end(at: environment.milliseconds(), settings)
        try producer.abort(timeoutMilliseconds: Self.callMilliseconds)
        // librdkafka 2.0.2 may report only now the reason for an earlier failure.
        takeDeliveryErrors()
        if let refusal = failures.refusal { return .refused(refusal) }
        if let late = failures.lateEnd { return .failed(late) }
      case .replace, .register:
        return try make(step, machine)
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
  package func prepare(
    _ step: TransactionMachine.Step,
    _ machine: TransactionMachine
  ) -> TransactionMachine.Outcome {
    do throws(KafkaError) {
      return try make(step, machine)
    } catch {
      failures.fail(error)
      return .failed(error)
    }
  }

  private func make(
    _ step: TransactionMachine.Step,
    _ machine: TransactionMachine
  ) throws(KafkaError) -> TransactionMachine.Outcome {
    switch step {
    case .replace:
      try replaceProducer(machine)
    case .register:
      try producer.initTransactions(timeoutMilliseconds: Self.callMilliseconds)
    case .nothing, .begin, .write, .addOffsets, .commit, .abort:
      preconditionFailure("\(step) needs no new producer")
    }
    return .succeeded
  }

  private func replaceProducer(_ machine: TransactionMachine) throws(KafkaError) {
    let reason = ReplacementReason(machine.state, failures.lossCause)
    close()
    let configuration = failures.producer(of: identity, settings)
    producer = try environment.clients.makeProducer(configuration, reportsEnds: reportsEnds, log: log)
    status.update {
      $0.replacements[reason, default: 0] += 1
      $0.clients[.producer]?.replace()
    }
    reportStatistics()
  }

  // MARK: Refused records

  /// The reason why a record is refused, if it has made a call fail; nil if repeating the call may help.
  ///
  /// If a record is refused during another call, librdkafka 2.0.2 only reports a wrong state (`_STATE`). If
  /// that counted as a transient error, the same record would be sent again and again.
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

  /// Takes the records that could not be delivered. If their batch was too large, the next producer sends smaller ones.
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
  package func logUndelivered() {
    for error in failures.takeUndelivered() {
      log.write(.transactionRecordUndelivered, "record not delivered", ["error": error])
    }
  }

  // MARK: Ends of transactions

  /// Records that a transaction was committed.
  package func confirm() {
    environment.crash?.reach(.afterCommit)
    failures.commit()
    status.ended(.committed)
  }

  /// Records that a transaction was aborted.
  package func withdraw(_ machine: TransactionMachine) {
    let inARow = machine.withdrawnInARow
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

  /// Records that the outcome of a transaction is unknown, or that its producer is unusable.
  package func lose(_ machine: TransactionMachine, waitMilliseconds: Int32) {
    status.ended(.unknown, withdrawnInARow: machine.withdrawnInARow)
    takeDeliveryErrors()
    failures.end(at: environment.milliseconds(), settings)
    failures.lose()
    log.write(
      .transactionOutcomeUnknown,
      "outcome of a transaction unknown; replacing the producer, and going back to what is published",
      [
        "cause": failures.cause,
        "inARow": LogFigure.count(machine.replacedInARow),
        "wait": LogFigure.duration(milliseconds: Int64(waitMilliseconds)),
      ]
    )
    logUndelivered()
  }
}

/// The failures of transactions that were not reported yet, and the resulting limits for the size of batches
/// and the time of transactions.
struct TransactionFailures {
  /// The error of the last failed call since the last commit.
  private(set) var last: KafkaError?
  /// The error that made the producer unusable, if it is to be replaced.
  private(set) var lossCause: KafkaError?
  /// The errors of the transaction's records that could not be delivered.
  private(set) var undelivered = DeliveryErrors()
  private(set) var batchLimit = BatchLimit()
  private var isRecordTooLarge = false
  /// The number of consecutive transactions that failed after using up most of their time.
  private(set) var slowInARow = 0
  /// When the current transaction began, in milliseconds of the monotonic clock; nil without one.
  private var start: Int64?

  /// The configuration of the next producer.
  func producer(of identity: WorkerIdentity, _ settings: KafkaSettings) -> KafkaConfiguration {
    settings.transactionalProducer(identity, slowInARow: slowInARow, batchLimit)
  }

  mutating func fail(_ error: KafkaError) { last = error }

  /// Records that a transaction began.
  mutating func begin(at now: Int64) { start = now }

  /// Records that the transaction will not be committed; repeated calls count once.
  mutating func end(at now: Int64, _ settings: KafkaSettings) {
    guard let begun = start else { return }
    start = nil
    // A transaction that times out may end slightly before its limit.
    let limit = settings.transactionMilliseconds(slowInARow: slowInARow)
    if now - begun >= Int64(limit) * 3 / 4 { slowInARow += 1 }
  }

  mutating func commit() { (last, start, slowInARow) = (nil, nil, 0) }

  mutating func lose() { lossCause = last }

  /// Records that could not be delivered. If their batch was too large, the next producer sends smaller ones.
  ///
  /// - Parameter batchBytes: the maximum batch size before the first refusal.
  /// - Returns: the new limit in bytes; nil if it does not change.
  mutating func take(_ errors: DeliveryErrors, batchBytes: Int) -> Int? {
    let wasTooLarge = undelivered.errors.contains(where: Self.isTooLarge)
    undelivered.append(errors)
    // Once per transaction: its other batches were built before the new limit.
    guard !wasTooLarge, errors.errors.contains(where: Self.isTooLarge) else { return nil }
    if batchLimit.isLeast {
      isRecordTooLarge = true
      return nil
    }
    batchLimit.shrink(from: batchBytes)
    return batchLimit.bytes
  }

  private static func isTooLarge(_ error: KafkaError) -> Bool { error.kind == .recordListTooLarge }

  /// The first error of a record that brokers refuse permanently.
  var refusal: KafkaError? {
    undelivered.errors.first { $0.kind.needsSomebody || isRecordTooLarge && Self.isTooLarge($0) }
  }

  /// The error of a record whose transaction a late request has ended; earlier records may be committed.
  var lateEnd: KafkaError? { undelivered.errors.first { $0.kind == .invalidTransactionState } }

  /// The reason for a transaction's end, for the log.
  var cause: String { last.map { "\($0)" } ?? "partitions were lost, or there was no time left" }

  /// Returns the errors of undelivered records to be reported, and clears them and the last call's error.
  mutating func takeUndelivered() -> [KafkaError] {
    defer {
      undelivered = DeliveryErrors()
      isRecordTooLarge = false
      last = nil
    }
    return undelivered.errors
  }
}

extension ReplacementReason {
  /// - Parameters:
  ///   - state: the machine's state before the replacement.
  ///   - error: the error of the last failed call; nil if there was no time left.
  package init(_ state: TransactionMachine.State, _ error: KafkaError?) {
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
