import Changesets
import Diagnostics
import Feed
import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import FeedTransactions
import Glibc
import Kafka
import OperatingSystem

/// Polls for input and applies it.
extension Worker {
  /// Polls for input, to be applied next.
  func takeInput(timeoutMilliseconds: Int32) throws -> WorkerEvent {
    let rebalance = try poll(timeoutMilliseconds: timeoutMilliseconds)
    if !batch.isEmpty { onEvent(.received(records: batch.count)) }
    return .polled(rebalance, batch.spans)
  }

  private func poll(timeoutMilliseconds: Int32) throws -> Rebalance? {
    try member.poll(timeoutMilliseconds: timeoutMilliseconds)
    try handleEvents(of: batch)
    return batch.rebalance
  }

  /// Keeps the membership, and detects rebalances. The input is paused; if records arrive anyway, the worker
  /// reads them again from the start of reading.
  func pollWithoutInput(timeoutMilliseconds: Int32) throws -> WorkerEvent {
    let rebalance = try poll(timeoutMilliseconds: timeoutMilliseconds)
    batch.discard()
    return .polled(rebalance, [])
  }

  /// Applies the polled records until a poll of the group is due.
  func applySlice(to store: isolated FeedStore) throws -> WorkerEvent.Applied {
    environment.backlog?.read(machine.positions.read, by: identity.number)
    noteBacklog(of: store)
    batch.beginSlice(until: member.schedule.dueTime)
    defer { noteIgnoredFields(of: store) }
    let time = TimeSource.clock(environment.milliseconds(), wall: environment.wallClock())
    if try store.apply(batch, time: time) == .flushDue { return .untilFlush }
    return batch.isUnfinished ? .slice : .everything
  }

  /// Logs the first occurrence of each ignored field, and reports the counts.
  private func noteIgnoredFields(of store: isolated FeedStore) {
    let ignored = store.ignoredFields
    let count = ignored.fields.reduce(ignored.otherCount) { $0 + $1.count }
    guard count > ignoredFields.count else { return }
    for field in ignored.fields[ignoredFields.logged...] {
      guard let (partition, position) = field.first else { continue }
      log.write(
        .inputFieldIgnored,
        "an event has a field that its operation does not have; it is ignored",
        [
          "operation": field.name.operation, "field": field.name.field,
          "topic": String(decoding: position.topic, as: UTF8.self), "partition": partition,
          "offset": position.offset,
        ]
      )
    }
    ignoredFields = (ignored.fields.count, count)
    status.update { $0.ignoredFields = ignored.counts }
  }

  /// Adds the offsets after transaction markers at the input's end to the next flush. Otherwise the lag would
  /// never be 0, and a marker that retention deletes would look like a lost record.
  ///
  /// - Returns: the ends that are after the last records.
  func coverEnds(_ store: isolated FeedStore) -> [TopicPartitionOffset] {
    let ends = batch.ends.filter(machine.positions.isBefore)
    for end in ends { store.cover(end, at: environment.milliseconds()) }
    return ends
  }

  func handleEvents(of batch: KafkaBatch) throws(DaemonError) {
    for case .error(let error) in batch.events {
      if error.kind == .autoOffsetReset { throw explained(lost: error) }
      if error.kind == .inconsistentGroupProtocol {
        // The coordinator accepts this member after the last of the others has left.
        log.write(
          .groupProtocolMismatch,
          "the group has members of an earlier build, which assign partitions differently; waiting until all of them are stopped",
          ["group": settings.groupID, "error": error]
        )
        continue
      }
      try member.note(error)
    }
  }

  /// The error that names the missing input.
  private func explained(lost error: KafkaError) -> DaemonError {
    do throws(DaemonError) {
      for position in machine.positions.resume {
        let input = position.topicPartition
        guard
          let ends = try? restorer.ends(of: input, timeoutMilliseconds: TransactionCaller.callMilliseconds)
        else {
          continue
        }
        try InputStart.check(InputStart.finding(input, position.offset, ends), ends, .fail)
      }
    } catch {
      return error
    }
    return DaemonError(
      .lostInput,
      "input is lost while it is read: \(error); start feedstore again to be told exactly what is missing"
    )
  }
}

/// Does timed work between two batches, and checks how far behind the input is.
extension Worker {
  /// Much less than any reasonable `offsets.retention.minutes`.
  static let offsetRefreshMilliseconds: Int64 = 3_600_000

  /// Does timed work after all polled records are applied.
  func look(_ store: isolated FeedStore) -> WorkerEvent {
    let ends = coverEnds(store)
    status.heartbeat(waitingRecords: batch.taken.records)
    let writes = environment.status.writes
    if writes.isAsked { writes.answer(of: machine.partitions.numbers) { store.version(of: $0, $1) } }
    if backlog.isBehind {
      backlog.apply(unread: member.unread(after: machine.positions.read).count)
      store.noteBacklog(backlog.isBehind)
    }
    noteLag(store)
    restorer.logStoppedPartitions()
    refreshOffsets(store)
    if stop.isRequested { log.write(.shutdownStopping, "stopping; publishing pending changes") }
    return .looked(
      ends: ends,
      deadline: store.deadline,
      restoreTime: restorer.nextStep,
      isStopping: stop.isRequested
    )
  }

  /// Commits old, unchanged offsets again: brokers forget the offsets of topics that the group does not
  /// assign, and the offsets of idle groups.
  private func refreshOffsets(_ store: isolated FeedStore) {
    let now = environment.milliseconds()
    guard now >= nextOffsetRefresh, !store.isPublicationDue, machine.transactions.isReady else { return }
    nextOffsetRefresh = now + Self.offsetRefreshMilliseconds
    for position in machine.positions.resume { store.cover(position, at: now) }
  }

  /// Informs the store whether the input is behind, after a poll that may have waited.
  func noteBacklog(of store: isolated FeedStore) {
    let now = environment.milliseconds()
    guard member.update(&backlog, at: now, after: machine.positions.read) else { return }
    store.noteBacklog(backlog.isBehind)
    if backlog.isMemoryReturnDue(at: now) { FreedMemory.giveBack() }
  }

  /// Records once a second the number of unpublished input records, as far as the brokers have reported.
  private func noteLag(_ store: isolated FeedStore) {
    let now = environment.milliseconds()
    guard now >= nextLag else { return }
    nextLag = now + 1_000
    environment.status.lags(member.lag(behind: machine.positions.committed), of: identity.number)
    member.noteOpenTransactions(behind: machine.positions.committed)
    noteContentsDelay(store, at: now)
    calls.serve()
  }
}

extension Worker {
  private static let slowContentsMilliseconds: Int64 = 60_000

  /// Reports how long a changed content has not been shown everywhere, and sometimes logs it.
  private func noteContentsDelay(_ store: isolated FeedStore, at now: Int64) {
    if environment.contents == nil { return }
    let delay = store.contentsChangedSince.map { now - $0 } ?? 0
    status.update { $0.contentsDelay = delay }
    guard delay >= Self.slowContentsMilliseconds, now >= nextContentsReminder else { return }
    nextContentsReminder = now + Self.slowContentsMilliseconds
    log.write(
      .contentsSlow,
      "changed contents are shown in so many items that it takes long; change them less often, or add workers",
      ["delay": LogFigure.duration(milliseconds: delay)]
    )
  }
}

/// Handles ends of transactions for the store and the input, and polls the group during long work.
extension Worker {
  static let seekMilliseconds: Int32 = 5_000

  /// Handles a committed transaction.
  func confirm(_ store: isolated FeedStore, isWhole: Bool, milliseconds: Int64) -> WorkerEvent {
    let published = publisher.confirm(store, isWhole: isWhole, milliseconds: milliseconds)
    let (offsets, rejected, unchanged) = published
    if isWhole {
      let counters = store.counters
      environment.status.committed(counters, rejected: rejected, by: identity.number)
      let writes = environment.status.writes
      if writes.isOn {
        writes.publish(offsets, rejected: rejected, unchanged: unchanged) { store.version(of: $0, $1) }
      }
      status.update { [content = store.content, stages = publisher.stages] in
        $0.flushes.observe(stages)
        $0.content = content
      }
      status.committed(&member.batch.taken) { consumer.topicName(at: $0) }
      logSharedIDs(store)
      onEvent(.committed(counters))
    }
    return .confirmed(offsets)
  }

  /// Seeks to the committed offsets.
  ///
  /// - Returns: whether the seek succeeded.
  func rewind(to positions: [TopicPartitionOffset]) -> Bool {
    member.dropInput()
    var hasRestarted = false
    let isDone = succeeds(.inputRewindFailed, "could not rewind the input; restoring feeds") {
      () throws(KafkaError) in
      // Then the feeds have to forget the records that they have taken.
      hasRestarted = try restorer.hasRestarted(positions)
      if !hasRestarted { try consumer.seek(positions, timeoutMilliseconds: Self.seekMilliseconds) }
    }
    return isDone && !hasRestarted
  }

  /// Whether a call of the consumer succeeds; otherwise the error is logged.
  func succeeds(_ event: LogEvent, _ failure: String, _ call: () throws(KafkaError) -> Void) -> Bool {
    do throws(KafkaError) {
      try call()
      return true
    } catch {
      log.write(event, failure, ["error": error])
      return false
    }
  }

  /// Restores partitions from the published records.
  func restoreAgain(
    _ store: isolated FeedStore,
    dropping dropped: Set<Int32>,
    restoring restored: [TopicPartition]
  ) throws {
    _ = rollBack(store)
    member.dropInput()
    try drop(dropped, store)
    if restored.isEmpty { return }
    environment.status.restoring(identity.number)
    try consumer.pause(restored)
    restorer.begin(restored)
  }

  /// Discards the pending changes.
  ///
  /// - Parameter repeated: a partition with repeated records; nil if there is none.
  /// - Returns: whether there were pending changes.
  func rollBack(_ store: isolated FeedStore, repeated: TopicPartition? = nil) -> Bool {
    if let repeated {
      restorer.noteRepeatedInput()
      log.write(.inputRepeated, "input was delivered twice; rereading it", ["partition": repeated])
    }
    let wasPending = store.isPublicationDue
    if wasPending { store.rollBack() }
    return wasPending
  }

  // MARK: Long work

  /// Polls without taking input, so that the group does not remove the worker.
  func serveGroup(pausing inputs: [TopicPartition]) throws(DaemonError) -> WorkerEvent {
    status.heartbeat()
    defer { member.postponePoll() }
    var isPaused = false
    do throws(KafkaError) {
      if !inputs.isEmpty {
        try consumer.pause(inputs)
        isPaused = true
      }
      try member.pollIdle()
    } catch {
      // If pausing failed, the group is not polled: the poll's input would be lost.
      log.write(.groupPollFailed, "could not poll the group during other work", ["error": error])
      return .groupServed(nil, isPaused: isPaused)
    }
    try handleEvents(of: member.idleBatch)
    return .groupServed(member.idleBatch.rebalance, isPaused: isPaused)
  }

  /// Resumes inputs after all polled records are applied.
  func resumeInput(_ inputs: [TopicPartition]) -> WorkerEvent.Resumption {
    if batch.isUnfinished { return .postponed }
    let isDone = succeeds(.inputResumeFailed, "could not resume the input; restoring feeds") {
      () throws(KafkaError) in
      try consumer.resume(inputs)
    }
    return isDone ? .done : .failed
  }
}
