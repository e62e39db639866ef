@testable import FeedStatus
@testable import FeedTransactions
@testable import FeedWorker
@testable import Kafka

/// States, events and actions as short texts, for the table of transitions.
enum WorkerMachineTexts {
  static func text(_ machine: WorkerMachine) -> String {
    var occasion = ""
    switch machine.transactions.state {
    case .replacing(.beginning), .renewing(.beginning): occasion = " for the next transaction"
    default: break
    }
    return switch machine.state {
    case .flushing(_, .calling), .preparing(.calling):
      text(machine.state).replacing(".calling", with: ".calling \(machine.transactions.step)\(occasion)")
    case .flushing(_, .checkingSchedule), .flushing(_, .servingGroup), .flushing(_, .waiting):
      "\(text(machine.state)), before \(machine.transactions.step)"
    default: text(machine.state)
    }
  }

  private static func text(_ state: WorkerState) -> String {
    switch state {
    case .starting, .joining, .applying, .betweenSlices, .looking, .rejoining, .restoring, .closing, .ended:
      "\(state)"
    case .resuming(let next): "resuming, then \(text(next))"
    case .polling(let restores): restores ? "polling, then restore" : "polling"
    case .preparing(let stage): "preparing.\(stage)"
    case .flushing(let flush, let stage):
      "flushing.\(text(stage))" + (flush.isLastPart ? " the last part" : "")
        + (flush.hasGivenUp ? ", given up" : "")
    case .losing(let next): "losing, then \(text(next))"
    case .rollingBack(let next, let always):
      "rollingBack\(always ? " and rewinding" : ""), then \(text(next))"
    case .rewinding(let next): "rewinding, then \(text(next))"
    case .restoringAgain(let next): "restoringAgain, then \(text(next))"
    case .rebalancing(.checking(let isSecond)): "rebalancing.checking\(isSecond ? " again" : "")"
    case .rebalancing(let stage): "rebalancing.\(stage)"
    }
  }

  private static func text(_ stage: WorkerState.FlushStage) -> String {
    if case .withdrawing(let wait) = stage { "withdrawing for \(wait) ms" } else { "\(stage)" }
  }

  private static func text(_ next: WorkerState.Continuation) -> String {
    switch next {
    case .endFlush(let flush, let wait): "endFlush in \(wait) ms, then \(text(flush.next))"
    case .loop, .look, .restore, .checkLeavingAgain, .giveUp, .close: "\(next)"
    }
  }

  static func text(_ event: WorkerEvent) -> String {
    switch event {
    case .done: "done"
    case .topicsChecked(let isStopping): isStopping ? "topicsChecked, stopping" : "topicsChecked"
    case .applied(let applied): "applied \(applied)"
    case .looked(_, let deadline, let restoreTime, let isStopping):
      "looked" + (deadline.map { ", due at \($0)" } ?? "")
        + (restoreTime.map { ", restoring at \($0)" } ?? "") + (isStopping ? ", stopping" : "")
    case .polled(let rebalance, let input):
      "polled \(text(rebalance))" + (input.isEmpty ? "" : ", with input")
    case .schedule(let isPollDue): "schedule: poll is \(isPollDue ? "" : "not ")due"
    case .groupServed(let rebalance, let isPaused):
      "groupServed \(text(rebalance))" + (isPaused ? ", paused" : "")
    case .resumed(let resumption): "resumed: \(resumption)"
    case .sought(let isDone): isDone ? "seek succeeded" : "seek failed"
    case .restored(let starts): "restored \(text(starts))"
    case .called(let outcome, _): "called: \(text(outcome))"
    case .confirmed: "confirmed"
    case .rolledBack(let wasPending): wasPending ? "rolledBack pending changes" : "rolledBack nothing"
    case .pending(let isPending): isPending ? "pending" : "not pending"
    }
  }

  private static func text(_ outcome: TransactionMachine.Outcome) -> String {
    switch outcome {
    case .succeeded: "succeeded"
    case .wrote(let ends, let isLast):
      "wrote\(ends ? " the transaction" : " a part")\(isLast ? ", the last" : "")"
    case .committedDespiteDisconnect: "committed, and a connection was lost"
    case .failed(let error): "failed, \(error.kind)"
    case .refused(let error): "refused, \(error.kind)"
    }
  }

  static func text(_ action: WorkerAction) -> String {
    switch action {
    case .findTopics, .join, .rejoin, .replaceConsumer, .close, .end, .apply, .look, .checkSchedule, .restore,
      .beginFlush, .withdraw:
      "\(action)"
    case .rollBack: "rollBack"
    case .fail(let error): "fail, \(error.kind)"
    case .poll(let timeout): "poll for \(timeout) ms"
    case .pollWithoutInput(let timeout): "pollWithoutInput for \(timeout) ms"
    case .serveGroup(let inputs): "serveGroup, pausing \(text(inputs))"
    case .resumeInput(let inputs): "resumeInput of \(text(inputs))"
    case .rewind(let positions): "rewind \(text(positions))"
    case .restoreAgain(let dropped, let restored):
      "restoreAgain, dropping \(text(dropped)), restoring \(text(restored))"
    case .prepareProducer(let step): "prepareProducer: \(step)"
    case .call(let step, let limit): "call: \(step)" + (limit == .max ? "" : " until \(limit)")
    case .wait(let milliseconds): "wait \(milliseconds) ms"
    case .confirm(let isWhole, _): isWhole ? "confirm the flush" : "confirm a part"
    case .lose(let wait): "lose, waiting \(wait) ms"
    case .checkPending(let partitions): "checkPending of \(text(partitions))"
    case .complete(let rebalance): "complete \(text(rebalance))"
    case .take(let partitions, let isSettled): "take \(text(partitions))" + (isSettled ? "" : ", not settled")
    case .giveUp(let partitions, _, let isLost): "giveUp \(text(partitions))" + (isLost ? ", lost" : "")
    case .readOn(let positions): "readOn \(text(positions))"
    }
  }

  private static func text(_ rebalance: Rebalance?) -> String {
    guard let rebalance else { return "nothing" }
    let kind = rebalance.needsNewConsumer ? "evicted" : "\(rebalance.kind)"
    return "\(kind) \(text(rebalance.partitions))"
  }

  private static func text(_ partitions: [TopicPartition]) -> String {
    text(Set(partitions.map(\.partition)))
  }
  private static func text(_ partitions: Set<Int32>) -> String { "\(partitions.sorted())" }
  private static func text(_ positions: [TopicPartitionOffset]) -> String {
    "[" + positions.map { "\($0.partition)@\($0.offset)" }.joined(separator: ", ") + "]"
  }
}
