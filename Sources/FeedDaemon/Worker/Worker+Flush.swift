import Feed
import FeedKafka
import FeedStore
import Kafka
import Service

/// Makes the calls that ``TransactionMachine`` asks for, and does with the store and the input what comes of
/// them.
extension Worker {
  /// How long a call may take before the group is served, and a request to stop is seen.
  static let callMilliseconds: Int32 = 1_000
  /// A coordinator that moves or starts is back in less.
  private static let offsetsMilliseconds: Int64 = 5_000
  static let seekMilliseconds: Int32 = 5_000

  /// Publishes the pending changes, with the offsets they cover; normally in one transaction.
  ///
  /// When a transaction is withdrawn, the store is rolled back and the input read again; then nothing waits
  /// either.
  ///
  /// - Throws: ``DaemonError`` when going on needs somebody.
  func flush(_ store: isolated FeedStore) throws(DaemonError) {
    guard store.isPublicationDue, machine.isReady else { return }
    flushStart = clock.milliseconds()
    flushClock.begin()
    machine.begin()
    try finishTransaction(store)
  }

  /// Goes on until no transaction is open. A rebalance that comes meanwhile sets a limit to the time.
  private func finishTransaction(_ store: isolated FeedStore) throws(DaemonError) {
    var hasGivenUp = false
    while machine.isInTransaction {
      if rebalance?.kind == .lost, !hasGivenUp {
        hasGivenUp = true
        try handle(machine.giveUp(), store)
        continue
      }
      let (step, start) = (machine.step, MonotonicClock.nanoseconds())
      var effect = call(store, until: publishingLimit)
      flushClock.add(step, since: start)
      status.turn()
      let now = clock.milliseconds()
      if case .retry = effect, now >= min(publishingLimit, stop.deadline ?? .max) {
        effect = machine.giveUp()
      }
      noteFailure(at: now)
      try handle(effect, store)
      if machine.isInTransaction, pollSchedule.isDue(at: environment.coarseClock()) { try keepMembership() }
    }
    try resumeInput(store)
  }

  private func noteFailure(at now: Int64) {
    guard machine.step == .abort || machine.step == .replace else { return }
    slowTransactions.fail(at: now, timeoutMilliseconds: producerMilliseconds)
  }

  /// Makes the call that is next.
  ///
  /// - Parameter limit: when to stop trying what fails, in milliseconds of the monotonic clock.
  private func call(_ store: isolated FeedStore, until limit: Int64) -> TransactionMachine.Effect {
    do throws(KafkaError) {
      switch machine.step {
      case .begin:
        try producer.begin()
        slowTransactions.begin(at: clock.milliseconds())
        environment.crash?.reach(.afterBegin)
      case .write:
        try write(store)
        let effect = machine.succeed()
        if part?.endsTransaction == true { machine.finishWriting() }
        return effect
      case .addOffsets:
        environment.crash?.reach(.beforeOffsets)
        try producer.sendOffsets(
          committedOffsets,
          try consumer.membership(),
          timeoutMilliseconds: offsetsTime(until: limit)
        )
        environment.crash?.reach(.afterOffsets)
      case .commit:
        defer { environment.crash?.reach(.inCommit) }
        if environment.crash?.isNext(.inCommit) == true {
          // Asked for, and not waited for. Only this once: librdkafka 2.0.2 aborts the process when a commit that is
          // under way is asked for again and its main thread takes longer than the call may.
          try producer.flush(timeoutMilliseconds: Self.callMilliseconds)
          try producer.commit(timeoutMilliseconds: 1)
        } else {
          try producer.commit(timeoutMilliseconds: Self.callMilliseconds)
        }
      case .abort:
        noteUndelivered()
        try producer.abort(timeoutMilliseconds: Self.callMilliseconds)
      case .replace, .register:
        try makeProducerCall()
      case .nothing:
        preconditionFailure("no call is to be made")
      }
      return machine.succeed()
    } catch {
      if error.kind != .queueFull {
        lastFailure = error
        log.write(
          .transactionCallFailed,
          "transaction call failed",
          ["call": machine.step.rawValue, "error": error]
        )
      }
      if let refusal = refusal(behind: error) { return machine.refuse(refusal) }
      return machine.fail(error)
    }
  }

  /// Why a record of the transaction is refused, if that is what a call has failed for; nil if only time is needed.
  ///
  /// When a record is refused while another call is under way, librdkafka 2.0.2 says of that call no more than that the
  /// state is wrong (`_STATE`); taken for something that passes, the same record would be sent again and again.
  private func refusal(behind error: KafkaError) -> KafkaError? {
    if error.isRetriable || error.kind == .queueFull { return nil }
    do throws(KafkaError) {
      guard try producer.poll(timeoutMilliseconds: 0) else { return nil }
    } catch {
      return nil
    }
    let isRecord = batchLimit.isLeast
    noteUndelivered()
    return undelivered.errors.first {
      $0.kind.needsSomebody || isRecord && $0.kind == .recordListTooLarge
    }
  }

  /// Takes the records that could not be delivered; if they came in too large a batch, the next producer's are smaller.
  private func noteUndelivered() {
    let errors = producer.takeDeliveryErrors()
    if errors.isEmpty { return }
    func isTooLarge(_ error: KafkaError) -> Bool { error.kind == .recordListTooLarge }
    if !batchLimit.isLeast, errors.errors.contains(where: isTooLarge),
      !undelivered.errors.contains(where: isTooLarge)
    {
      batchLimit.shrink(from: settings.batchBytes)
      log.write(
        .transactionBatchTooLarge,
        "batch too large for a segment; sending smaller batches",
        ["bytes": batchLimit.bytes ?? 0]
      )
    }
    undelivered = errors
  }

  /// How long adding offsets may take: librdkafka 2.0.2 gives the transaction up when the group's coordinator is not
  /// there in that time.
  private func offsetsTime(until limit: Int64) -> Int32 {
    let left = min(limit, stop.deadline ?? .max) - clock.milliseconds()
    return Int32(max(Int64(Self.callMilliseconds), min(left, Self.offsetsMilliseconds)))
  }

  /// Queues the next part of the flush, or what is left of the last.
  private func write(_ store: isolated FeedStore) throws(KafkaError) {
    guard var writer else { preconditionFailure("a flush before the start") }
    defer { self.writer = writer }
    if writer.isIdle {
      let start = MonotonicClock.nanoseconds()
      let next = part == nil ? store.beginFlush() : store.nextPart()
      flushClock.addPlanning(since: start)
      part = next
      writer.begin(next)
    }
    try producer.queue(&writer)
  }

  /// What the transaction commits. The offsets of one that is not its flush's last stay where they are; they
  /// are sent all the same, as they show the group that the partitions are still ours.
  private var offsets: [TopicPartitionOffset] {
    guard let part, part.isLast else { return positions.resume }
    return part.covered.map {
      TopicPartitionOffset(
        topic: String(decoding: $0.topic, as: UTF8.self),
        partition: $0.partition,
        offset: $0.nextOffset
      )
    }
  }

  /// The same as the group keeps it.
  private var committedOffsets: [TopicPartition: CommittedOffset] {
    let entries = offsets.map {
      let metadata = writer?.ends.metadata(of: $0.partition) ?? ""
      return ($0.topicPartition, CommittedOffset($0.offset, metadata: metadata))
    }
    return Dictionary(entries) { $1 }
  }

  /// Does what comes of a call.
  func handle(_ effect: TransactionMachine.Effect, _ store: isolated FeedStore) throws(DaemonError) {
    switch effect {
    case .proceed: break
    case .retry(let milliseconds):
      try wait(milliseconds)
    case .committed:
      environment.crash?.reach(.afterCommit)
      slowTransactions.commit()
      writer?.ends.commit()
      lastFailure = nil
      status.ended(.committed)
      let isWhole = part?.isLast == true
      if isWhole {
        positions.commit(offsets)
        store.notePublication(milliseconds: clock.milliseconds() - flushStart)
      }
      store.confirm()
      guard isWhole else { return machine.begin() }
      endFlush()
      let counters = store.counters
      environment.status.committed(counters, by: identity.number)
      status.committed(flushClock, store.content, &batch.taken) { consumer.topicName(at: $0) }
      onEvent(.committed(counters))
      renewSlowProducer()
    case .withdrawn(let milliseconds):
      endFlush()
      store.rollBack()
      status.ended(.withdrawn, withdrawnInARow: machine.withdrawnInARow)
      log.write(
        .transactionAborted,
        "transaction aborted; rereading its input",
        [
          "cause": cause,
          "undelivered": LogFigure.count(undelivered.count),
          "inARow": LogFigure.count(machine.withdrawnInARow),
        ]
      )
      tellUndelivered()
      onEvent(.withdrawn)
      try rewind(store)
      try wait(milliseconds)
    case .lost(let milliseconds):
      endFlush()
      status.ended(.unknown, withdrawnInARow: machine.withdrawnInARow)
      lossCause = lastFailure
      log.write(
        .transactionOutcomeUnknown,
        "outcome of a transaction unknown; replacing the producer and restoring feeds",
        [
          "cause": cause,
          "inARow": LogFigure.count(machine.replacedInARow),
          "wait": LogFigure.duration(milliseconds: Int64(milliseconds)),
        ]
      )
      tellUndelivered()
      producerPauseEnd = clock.milliseconds() + Int64(milliseconds)
      onEvent(.recovering)
      try restoreAgain(store)
    case .stop(let error):
      endFlush()
      status.ended(.refused)
      tellUndelivered()
      throw .cannot("publish", error)
    }
  }

  /// What the producer may leave open when the process is killed holds back whoever comes after for as long as its
  /// transactions may take; when they go well again, that is to be short again.
  private func renewSlowProducer() {
    guard producerMilliseconds > settings.transactionMilliseconds(slowInARow: 0) else { return }
    // Whoever waits for the partitions does not wait for that.
    if rebalance == nil, !stop.isRequested { machine.renew() }
  }

  private func endFlush() {
    part = nil
    writer?.discard()
  }

  /// Which call of a transaction failed last, and how, for the log.
  private var cause: String {
    lastFailure.map { "\($0)" } ?? "partitions were lost, or there was no time left"
  }

  /// The end of telling why a transaction has ended.
  private func tellUndelivered() {
    for error in undelivered.errors {
      log.write(.transactionRecordUndelivered, "record not delivered", ["error": error])
    }
    undelivered = DeliveryErrors()
    lastFailure = nil
  }

  /// Waits, serving the producer meanwhile.
  private func wait(_ milliseconds: Int32) throws(DaemonError) {
    do throws(KafkaError) {
      if milliseconds > 0 { try producer.poll(timeoutMilliseconds: milliseconds) }
    } catch {
      throw DaemonError(error)
    }
  }

  /// Goes back to what is committed, for every partition.
  func rewind(_ store: isolated FeedStore) throws(DaemonError) {
    dropInput()
    positions.rewind()
    do throws(KafkaError) {
      try consumer.seek(positions.resume, timeoutMilliseconds: Self.seekMilliseconds)
    } catch {
      // Where the reading stands is not known now; a restoration ends with seeking until it succeeds.
      log.write(.inputRewindFailed, "could not rewind the input; restoring feeds", ["error": error])
      try restoreAgain(store)
    }
  }

  /// Forgets what was polled, which is read again.
  private func dropInput() {
    batch.taken.discard()
    batch.discard()
  }

  /// Has all partitions restored from what is published.
  func restoreAgain(_ store: isolated FeedStore) throws(DaemonError) {
    if store.isPublicationDue { store.rollBack() }
    dropInput()
    pausedMeanwhile = []
    try drop(Set(assigned.map(\.partition)), store)
    if assigned.isEmpty { return }
    environment.status.restoring(identity.number)
    do throws(KafkaError) {
      try beginRestoring(assigned)
    } catch {
      throw DaemonError(error)
    }
  }

  // MARK: What takes long

  /// Polls without taking input, so that the group does not count the worker out.
  ///
  /// A rebalance that comes with it is only noted.
  func keepMembership() throws(DaemonError) {
    status.turn()
    defer { pollSchedule.poll(at: environment.coarseClock()) }
    do throws(KafkaError) {
      if pausedMeanwhile.isEmpty, !readable.isEmpty {
        try consumer.pause(readable)
        pausedMeanwhile = readable
      }
      try idleBatch.poll(timeoutMilliseconds: 0)
    } catch {
      // Not polled then: what came would be lost.
      log.write(.groupPollFailed, "could not poll the group during other work", ["error": error])
      return
    }
    try handleEvents(of: idleBatch)
  }

  /// Has input come again, once all that came is applied.
  func resumeInput(_ store: isolated FeedStore) throws(DaemonError) {
    if pausedMeanwhile.isEmpty || batch.isUnfinished { return }
    let paused = pausedMeanwhile
    pausedMeanwhile = []
    do throws(KafkaError) {
      try consumer.resume(paused)
    } catch {
      log.write(.inputResumeFailed, "could not resume the input; restoring feeds", ["error": error])
      try restoreAgain(store)
    }
  }
}
