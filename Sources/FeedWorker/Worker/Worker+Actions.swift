import FeedKafka
import FeedStore
import Kafka
import Service

extension Worker {
  /// Does what the machine says.
  ///
  /// - Returns: what came of it.
  /// - Throws: ``DaemonError`` or `KafkaError`, when the worker cannot go on.
  func perform(_ action: WorkerAction, _ store: isolated FeedStore) throws -> WorkerEvent {
    switch action {
    case .findTopics: return try begin()
    case .join: try join()
    case .rejoin: try rejoin()
    case .replaceConsumer: try replaceConsumer()
    case .close:
      report = DaemonReport(counters: store.counters, feeds: store.summaries())
      close()
    case .end: preconditionFailure("the worker has ended")
    case .fail(let error):
      refuse()
      throw DaemonError.cannot("publish", error)
    case .report(let notice): tell(notice)

    case .apply: return .applied(try applySlice(to: store))
    case .look: return look(store)
    case .poll(let timeout): return try takeInput(store, timeoutMilliseconds: timeout)
    case .pollWithoutInput(let timeout): return try pollWithoutInput(timeoutMilliseconds: timeout)
    case .checkSchedule: return .schedule(isPollDue: pollSchedule.isDue(at: environment.coarseClock()))
    case .serveGroup(let inputs): return try serveGroup(pausing: inputs)
    case .resumeInput(let inputs): return .resumed(resumeInput(inputs))
    case .rewind(let positions): return .sought(isDone: rewind(to: positions))

    case .restore:
      restoreResult = WorkerEvent.RestoreResult()
      try restore(store)
      return .restored(restoreResult)
    case .restoreAgain(let dropped, let restored):
      try restoreAgain(store, dropping: dropped, restoring: restored)

    case .prepareProducer(let step): return .called(prepareProducer(step), stopDeadline: stop.deadline)
    case .beginFlush: beginFlush(store)
    case .call(let step, let limit):
      return .called(call(step, store, until: limit), stopDeadline: stop.deadline)
    case .wait(let milliseconds): try wait(milliseconds)
    case .confirm(let isWhole, let milliseconds):
      confirm(store, isWhole: isWhole, milliseconds: milliseconds)
      return .confirmed(isStopping: stop.isRequested)
    case .withdraw: withdraw(store)
    case .lose(let wait): lose(store, waitMilliseconds: wait)
    case .rollBack: return .rolledBack(wasPending: rollBack(store))

    case .checkPending(let partitions):
      return .pending(partitions.contains { store.isPublicationDue(of: $0) })
    case .complete(let rebalance): try consumer.complete(rebalance)
    case .take(let partitions, let isSettled): try take(partitions, isSettled: isSettled)
    case .giveUp(let partitions, let inputs, let isLost):
      try giveUp(partitions, inputs, isLost: isLost, store)
    case .readOn(let positions): return .sought(isDone: readOn(at: positions))
    }
    return .done
  }

  private func begin() throws -> WorkerEvent {
    guard let layout = try findTopics() else { return .topicsChecked(isStopping: true) }
    writer = PublicationWriter(options, layout, environment.rejectedLimit, crash: environment.crash)
    log.write(.groupJoining, "joining the group", ["topics": options.topics.inputs.joined(separator: ",")])
    return .topicsChecked(isStopping: false)
  }

  private func rejoin() throws(KafkaError) {
    log.write(.groupRejoining, "rejoining the group; a broker may not have known all topics")
    // A member that asks for the same topics once more would just stay.
    try consumer.unsubscribe()
    try join()
  }

  private func tell(_ notice: WorkerNotice) {
    switch notice {
    case .stopping:
      log.write(.shutdownStopping, "stopping; publishing pending changes")
    case .waitingForCoordinator(let error):
      log.write(
        .transactionWaitingForCoordinator,
        "waiting for the transaction coordinator",
        ["error": error]
      )
    case .producerRefused(let error):
      log.write(.transactionProducerRefused, "could not register the producer", ["error": error])
    case .revoking: status.update { $0.rebalances[.revoked, default: 0] += 1 }
    case .lost: status.update { $0.rebalances[.lost, default: 0] += 1 }
    }
  }
}
