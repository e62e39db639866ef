import Changesets
import Feed
import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import FeedTransactions
import Glibc
import Kafka
import Service

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

  /// Keeps the membership, and notices rebalances. The input is paused; records that come nevertheless are read
  /// again from where the reading begins.
  func pollWithoutInput(timeoutMilliseconds: Int32) throws -> WorkerEvent {
    let rebalance = try poll(timeoutMilliseconds: timeoutMilliseconds)
    batch.discard()
    return .polled(rebalance, [])
  }

  /// Applies what was polled, until the group has to be polled again.
  func applySlice(to store: isolated FeedStore) throws -> WorkerEvent.Applied {
    environment.backlog?.read(machine.positions.read, by: identity.number)
    noteBacklog(of: store)
    batch.beginSlice(until: member.schedule.dueTime)
    defer { noteIgnoredFields(of: store) }
    if try store.apply(batch, time: .clock(clock.milliseconds())) == .flushDue { return .untilFlush }
    return batch.isUnfinished ? .slice : .everything
  }

  /// Logs the first of each field that had no effect, and reports how often they occurred.
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

  /// Has the offsets after transaction markers at the end of the input committed with the next flush. Otherwise the lag
  /// would never be 0, and a marker that retention deletes would look like a lost record.
  ///
  /// - Returns: the ends that are after the last records.
  func coverEnds(_ store: isolated FeedStore) -> [TopicPartitionOffset] {
    let ends = batch.ends.filter(machine.positions.isBefore)
    for end in ends { store.cover(end, at: clock.milliseconds()) }
    return ends
  }

  func handleEvents(of batch: KafkaBatch) throws(DaemonError) {
    for case .error(let error) in batch.events {
      if error.kind == .autoOffsetReset { throw explained(lost: error) }
      if error.kind == .inconsistentGroupProtocol {
        // It takes this member in when the last of the others has left.
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

  /// What is missing of the input that is read.
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

/// Does what is due by time, between two batches, and looks how far behind the input is.
extension Worker {
  /// Much less than the least `offsets.retention.minutes` that makes sense.
  static let offsetRefreshMilliseconds: Int64 = 3_600_000

  /// Does what is due by time, when everything that was polled is applied.
  func look(_ store: isolated FeedStore) -> WorkerEvent {
    let ends = coverEnds(store)
    status.heartbeat(waitingRecords: batch.taken.records)
    let writes = environment.status.writes
    if writes.isAsked { writes.answer(of: machine.partitions.numbers) { store.version(of: $0, $1) } }
    if backlog.isBehind {
      backlog.apply(unread: member.unread(after: machine.positions.read).count)
      store.noteBacklog(backlog.isBehind)
    }
    noteLag()
    restorer.logStoppedPartitions()
    refreshOffsets(store)
    return .looked(
      ends: ends,
      deadline: store.deadline,
      restoreTime: restorer.nextStep,
      isStopping: stop.isRequested
    )
  }

  /// Commits offsets again that have not changed for a long time: brokers forget those of topics that the group does not
  /// assign, and those of idle groups.
  private func refreshOffsets(_ store: isolated FeedStore) {
    let now = clock.milliseconds()
    guard now >= nextOffsetRefresh, !store.isPublicationDue, machine.transactions.isReady else { return }
    nextOffsetRefresh = now + Self.offsetRefreshMilliseconds
    for position in machine.positions.resume { store.cover(position, at: now) }
  }

  /// Tells the store whether the input is behind, after a poll that may have waited.
  func noteBacklog(of store: isolated FeedStore) {
    let now = clock.milliseconds()
    guard backlog.isDue(records: batch.count, at: now) else { return }
    let unread = member.unread(after: machine.positions.read)
    backlog.poll(isEmpty: batch.isEmpty, unread: unread.count)
    store.noteBacklog(backlog.isBehind)
    if backlog.isBehind { member.keepFetching(unread.partitions, &backlog) }
    if backlog.isMemoryReturnDue(at: now) { FreedMemory.giveBack() }
  }

  /// Records, once a second, how many input records are not published yet, as far as the brokers have reported.
  private func noteLag() {
    let now = clock.milliseconds()
    guard now >= nextLag else { return }
    nextLag = now + 1_000
    environment.status.lags(member.lag(behind: machine.positions.committed), of: identity.number)
    member.noteOpenTransactions(behind: machine.positions.committed)
    calls.serve()
  }
}

/// What follows the end of a transaction for the store and the input; and polls of the group during long work.
extension Worker {
  static let seekMilliseconds: Int32 = 5_000

  /// What a call of the publisher needs to know.
  func context(until limit: Int64 = .max) -> Publisher.Context {
    Publisher.Context(
      consumer: consumer,
      transactions: machine.transactions,
      resume: machine.positions.resume,
      forgotten: restorer.forgotten,
      limit: limit
    )
  }

  /// A transaction was committed: what it holds is published.
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

  /// Goes back to what is committed.
  ///
  /// - Returns: whether that has succeeded.
  func rewind(to positions: [TopicPartitionOffset]) -> Bool {
    member.dropInput()
    do throws(KafkaError) {
      // The feeds have to forget what they have taken.
      if try restorer.hasRestarted(positions) { return false }
      try consumer.seek(positions, timeoutMilliseconds: Self.seekMilliseconds)
      return true
    } catch {
      log.write(.inputRewindFailed, "could not rewind the input; restoring feeds", ["error": error])
      return false
    }
  }

  /// Has partitions restored from what is published.
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
  /// - Parameter repeated: a partition of which records came that had come before; nil if there is none.
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

  // MARK: What takes long

  /// Polls without taking input, so that the group does not count the worker out.
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
      // Not polled then: what came would be lost.
      log.write(.groupPollFailed, "could not poll the group during other work", ["error": error])
      return .groupServed(nil, isPaused: isPaused)
    }
    try handleEvents(of: member.idleBatch)
    return .groupServed(member.idleBatch.rebalance, isPaused: isPaused)
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
