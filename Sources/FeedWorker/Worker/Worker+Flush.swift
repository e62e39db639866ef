import Feed
import FeedKafka
import FeedStore
import Kafka
import Service

/// Makes the calls of transactions, and does with the store what comes of them.
extension Worker {
  /// How long a call may take before the group is served, and a request to stop is seen.
  static let callMilliseconds: Int32 = 1_000
  /// A coordinator that moves or starts is back in less.
  private static let offsetsMilliseconds: Int64 = 5_000
  static let seekMilliseconds: Int32 = 5_000

  func beginFlush(_ store: isolated FeedStore) {
    flushClock.begin()
    let start = MonotonicClock.nanoseconds()
    flush = store.beginFlush()
    flushClock.addPlanning(since: start)
  }

  /// Makes a call, and says what came of it.
  ///
  /// - Parameter limit: when to stop trying what fails, in milliseconds of the monotonic clock.
  func call(
    _ step: TransactionMachine.Step,
    _ store: isolated FeedStore,
    until limit: Int64
  ) -> WorkerEvent.Outcome {
    let start = MonotonicClock.nanoseconds()
    defer {
      flushClock.add(step, since: start)
      status.turn()
    }
    do throws(KafkaError) {
      switch step {
      case .begin:
        try producer.begin()
        environment.crash?.reach(.afterBegin)
      case .write:
        try write(store)
        return .wrote(
          endsTransaction: flush?.isAtEndOfTransaction == true,
          isLast: flush?.isAtEnd == true
        )
      case .addOffsets:
        environment.crash?.reach(.beforeOffsets)
        try addOffsets(store, until: limit)
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
        try producer.abort(timeoutMilliseconds: Self.callMilliseconds)
        // librdkafka 2.0.2 may report only now what made a call fail.
        noteUndelivered()
        if let refusal = failures.refusal { return .refused(refusal) }
      case .replace, .register:
        return try makeProducerCall(step)
      case .nothing:
        preconditionFailure("no call is to be made")
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

  /// Adds the offsets to the transaction, while its records are on their way; and again if a partition ends later than
  /// was added with them, because others have written to it.
  private func addOffsets(_ store: isolated FeedStore, until limit: Int64) throws(KafkaError) {
    var isOutdated = false
    repeat {
      let membership = try consumer.membership()
      try producer.sendOffsets(
        committedOffsets(store, membership),
        membership,
        timeoutMilliseconds: offsetsTime(until: limit)
      )
      // The commit would wait for the same.
      try producer.flush(timeoutMilliseconds: Self.callMilliseconds)
      isOutdated = writer?.correctEnds(by: producer) == true
    } while isOutdated
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
    noteUndelivered()
    return failures.refusal
  }

  /// Takes the records that could not be delivered; if they came in too large a batch, the next producer's are smaller.
  private func noteUndelivered() {
    let errors = producer.takeDeliveryErrors()
    guard let bytes = failures.take(errors, batchBytes: settings.batchBytes) else { return }
    log.write(
      .transactionBatchTooLarge,
      "batch too large for a segment; sending smaller batches",
      ["bytes": bytes]
    )
  }

  /// How long adding offsets may take: librdkafka 2.0.2 gives the transaction up when the group's coordinator is not
  /// there in that time.
  private func offsetsTime(until limit: Int64) -> Int32 {
    let left = min(limit, stop.deadline ?? .max) - clock.milliseconds()
    return Int32(max(Int64(Self.callMilliseconds), min(left, Self.offsetsMilliseconds)))
  }

  /// Queues the next part of the flush, or what is left of the last.
  private func write(_ store: isolated FeedStore) throws(KafkaError) {
    // The flush stays where it is: a noncopyable value that is taken out cannot be put back when a call throws.
    guard var writer, flush != nil else { preconditionFailure("nothing is being flushed") }
    defer { self.writer = writer }
    if writer.isIdle {
      let start = MonotonicClock.nanoseconds()
      store.prepareNextPart(of: &flush!)
      flushClock.addPlanning(since: start)
      writer.begin()
    }
    try store.withPart(of: flush!) { (part) throws(KafkaError) in try producer.queue(part, by: &writer) }
  }

  /// What the transaction commits. The offsets of one that is not its flush's last stay where they are; they
  /// are sent all the same, as they show the group that the partitions are still ours.
  private func offsets(_ store: isolated FeedStore) -> [TopicPartitionOffset] {
    guard flush?.isAtEnd == true else { return machine.positions.resume }
    return store.withPart(of: flush!) { part in
      part.covered.map {
        TopicPartitionOffset(
          topic: String(decoding: $0.topic, as: UTF8.self),
          partition: $0.partition,
          offset: $0.nextOffset
        )
      }
    }
  }

  /// The same as the group keeps it.
  private func committedOffsets(
    _ store: isolated FeedStore,
    _ membership: any GroupMembership
  ) -> [TopicPartition: CommittedOffset] {
    let author = membership.member.map { CommitMetadata.Author(member: $0, producer: transactionalID) }
    let entries = offsets(store).map { position in
      let metadata = CommitMetadata(
        changesetsEnd: writer?.ends.endIfCommitted(of: position.partition),
        partitions: writer?.layout.inputPartitions,
        // Behind it, nothing is left to be read that a feed could take for something that it has taken.
        forgotten: forgotten[position.topicPartition].flatMap { position.offset <= $0 ? $0 : nil },
        author: author
      )
      return (position.topicPartition, CommittedOffset(position.offset, metadata: metadata.text))
    }
    return Dictionary(entries) { $1 }
  }

  // MARK: What comes of a transaction

  /// A transaction was committed: what it holds is published.
  func confirm(_ store: isolated FeedStore, isWhole: Bool, milliseconds: Int64) {
    environment.crash?.reach(.afterCommit)
    writer?.ends.commit()
    failures.commit()
    status.ended(.committed)
    if isWhole {
      machine.positions.commit(offsets(store))
      store.notePublication(milliseconds: milliseconds)
    }
    guard let committed = flush.take() else { preconditionFailure("no flush to confirm") }
    let rejected = isWhole ? store.withPart(of: committed) { $0.rejected } : []
    flush = store.confirm(committed)
    guard isWhole else { return }
    let counters = store.counters
    environment.status.committed(counters, rejected: rejected, by: identity.number)
    status.committed(flushClock, store.content, &batch.taken) { consumer.topicName(at: $0) }
    tellSharedIDs(store)
    onEvent(.committed(counters))
  }

  /// A transaction was aborted: the store goes back to what is published.
  func withdraw(_ store: isolated FeedStore) {
    endFlush(store)
    let inARow = machine.transactions.withdrawnInARow
    status.ended(.withdrawn, withdrawnInARow: inARow)
    log.write(
      .transactionAborted,
      "transaction aborted; rereading its input",
      [
        "cause": failures.cause, "undelivered": LogFigure.count(failures.undelivered.count),
        "inARow": LogFigure.count(inARow),
      ]
    )
    tellUndelivered()
    onEvent(.withdrawn)
  }

  /// What is published is not known: the feeds are restored once another producer is registered.
  func lose(_ store: isolated FeedStore, waitMilliseconds: Int32) {
    endFlush(store)
    status.ended(.unknown, withdrawnInARow: machine.transactions.withdrawnInARow)
    noteUndelivered()
    failures.lose()
    log.write(
      .transactionOutcomeUnknown,
      "outcome of a transaction unknown; replacing the producer and restoring feeds",
      [
        "cause": failures.cause,
        "inARow": LogFigure.count(machine.transactions.replacedInARow),
        "wait": LogFigure.duration(milliseconds: Int64(waitMilliseconds)),
      ]
    )
    tellUndelivered()
    onEvent(.recovering)
  }

  /// Nothing can be published before somebody has done something.
  func refuse() {
    status.ended(.refused)
    tellUndelivered()
  }

  /// Withdraws the flush that is in progress, if there is one.
  func endFlush(_ store: isolated FeedStore) {
    if let flush = flush.take() { store.rollBack(flush) }
    writer?.discard()
  }

  /// The end of telling why a transaction has ended.
  private func tellUndelivered() {
    for error in failures.takeUndelivered() {
      log.write(.transactionRecordUndelivered, "record not delivered", ["error": error])
    }
  }

  /// Waits, serving the producer meanwhile.
  func wait(_ milliseconds: Int32) throws(KafkaError) {
    if milliseconds > 0 { try producer.poll(timeoutMilliseconds: milliseconds) }
  }

  /// Goes back to what is committed.
  ///
  /// - Returns: whether that has succeeded.
  func rewind(to positions: [TopicPartitionOffset]) -> Bool {
    dropInput()
    do throws(KafkaError) {
      if mayHaveRestarted {
        mayHaveRestarted = false
        // The feeds have to forget what they have taken.
        if try hasRestarted(positions) { return false }
      }
      try consumer.seek(positions, timeoutMilliseconds: Self.seekMilliseconds)
      return true
    } catch {
      log.write(.inputRewindFailed, "could not rewind the input; restoring feeds", ["error": error])
      return false
    }
  }

  /// Forgets what was polled, which is read again.
  private func dropInput() {
    batch.taken.discard()
    batch.discard()
  }

  /// Has partitions restored from what is published.
  func restoreAgain(
    _ store: isolated FeedStore,
    dropping dropped: Set<Int32>,
    restoring restored: [TopicPartition]
  ) throws {
    _ = rollBack(store)
    dropInput()
    try drop(dropped, store)
    if restored.isEmpty { return }
    environment.status.restoring(identity.number)
    try beginRestoring(restored)
  }

  /// Discards the pending changes.
  ///
  /// - Returns: whether there were some.
  func rollBack(_ store: isolated FeedStore) -> Bool {
    let wasPending = store.isPublicationDue
    if wasPending { store.rollBack() }
    return wasPending
  }

  // MARK: What takes long

  /// Polls without taking input, so that the group does not count the worker out.
  func serveGroup(pausing inputs: [TopicPartition]) throws(DaemonError) -> WorkerEvent {
    status.turn()
    defer { pollSchedule.poll(at: environment.coarseClock()) }
    var isPaused = false
    do throws(KafkaError) {
      if !inputs.isEmpty {
        try consumer.pause(inputs)
        isPaused = true
      }
      try idleBatch.poll(timeoutMilliseconds: 0)
    } catch {
      // Not polled then: what came would be lost.
      log.write(.groupPollFailed, "could not poll the group during other work", ["error": error])
      return .groupServed(nil, isPaused: isPaused)
    }
    try handleEvents(of: idleBatch)
    return .groupServed(idleBatch.rebalance, isPaused: isPaused)
  }

  /// Has input come again, once all that came is applied.
  func resumeInput(_ inputs: [TopicPartition]) -> WorkerEvent.Resumption {
    if batch.isUnfinished { return .postponed }
    do throws(KafkaError) {
      try consumer.resume(inputs)
      return .done
    } catch {
      log.write(.inputResumeFailed, "could not resume the input; restoring feeds", ["error": error])
      return .failed
    }
  }
}
