import FeedTransactions
import Kafka

/// Publishes: takes the next call from ``TransactionMachine``, and decides the actions for the store and the input.
extension WorkerMachine {
  /// Begins to publish the pending changes, normally in one transaction.
  mutating func flush(then next: WorkerState.Continuation, at now: Int64) -> WorkerAction {
    transactions.begin()
    return enter(.flushing(WorkerState.Flush(start: now, next: next), .beginning), .beginFlush)
  }

  mutating func goOn(
    with flush: WorkerState.Flush,
    _ event: WorkerEvent,
    at stage: WorkerState.FlushStage,
    _ now: Int64
  ) -> WorkerAction? {
    switch (stage, event) {
    case (.beginning, .done):
      return nextCall(of: flush, at: now)
    case (.calling, .called(let outcome, let stopDeadline)) where outcome.fits(transactions.step):
      return note(outcome, of: flush, stopDeadline: stopDeadline, at: now)
    case (.waiting, .done):
      return checkSchedule(in: flush, at: now)
    case (.checkingSchedule, .schedule(let isPollDue)):
      return isPollDue ? enter(.flushing(flush, .servingGroup), serveGroup()) : nextCall(of: flush, at: now)
    case (.servingGroup, .groupServed(let rebalance, let isPaused)):
      noteService(rebalance, isPaused: isPaused, at: now)
      return nextCall(of: flush, at: now)
    case (.confirming, .confirmed(let offsets)):
      positions.commit(offsets)
      if !flush.isLastPart { transactions.begin() }
      return checkSchedule(in: flush, at: now)
    case (.withdrawing(let wait), .done):
      return rewind(then: .endFlush(flush, waitMilliseconds: wait))
    case (.pausing, .done):
      return go(on: .endFlush(flush, waitMilliseconds: 0), at: now)
    default:
      return nil
    }
  }

  /// When to stop trying to publish.
  var publishingLimit: Int64 { rebalance?.retryLimit(since: rebalanceTime) ?? .max }

  private mutating func nextCall(of flush: WorkerState.Flush, at now: Int64) -> WorkerAction {
    var flush = flush
    if rebalance?.kind == .lost, !flush.hasGivenUp {
      flush.hasGivenUp = true
      let effect = transactions.giveUp()
      if effect != .proceed { return handle(effect, of: flush, at: now) }
    }
    return enter(.flushing(flush, .calling), .call(transactions.step, until: publishingLimit))
  }

  private mutating func note(
    _ outcome: TransactionMachine.Outcome,
    of flush: WorkerState.Flush,
    stopDeadline: Int64?,
    at now: Int64
  ) -> WorkerAction {
    var flush = flush
    if case .wrote(_, let isLast) = outcome { flush.isLastPart = isLast }
    var effect = transactions.take(outcome)
    if case .retry = effect, now >= min(publishingLimit, stopDeadline ?? .max) {
      effect = transactions.giveUp()
    }
    return handle(effect, of: flush, at: now)
  }

  private mutating func handle(
    _ effect: TransactionMachine.Effect,
    of flush: WorkerState.Flush,
    at now: Int64
  ) -> WorkerAction {
    switch effect {
    case .proceed:
      return checkSchedule(in: flush, at: now)
    case .retry(let milliseconds), .pause(let milliseconds):
      return enter(.flushing(flush, .waiting), .wait(milliseconds: milliseconds))
    case .committed:
      return enter(
        .flushing(flush, .confirming),
        .confirm(isWhole: flush.isLastPart, milliseconds: now - flush.start)
      )
    case .withdrawn(let wait):
      return enter(.flushing(flush, .withdrawing(waitMilliseconds: wait)), .withdraw)
    case .lost(let wait):
      return lose(waitMilliseconds: wait, then: .endFlush(flush, waitMilliseconds: 0), at: now)
    case .stop(let error):
      return enter(.ended, .fail(error))
    }
  }

  /// Polls the group between two calls if a poll is due; without a transaction the loop does so.
  private mutating func checkSchedule(in flush: WorkerState.Flush, at now: Int64) -> WorkerAction {
    transactions.isInTransaction
      ? enter(.flushing(flush, .checkingSchedule), .checkSchedule)
      : go(on: .endFlush(flush, waitMilliseconds: 0), at: now)
  }

  private mutating func lose(
    waitMilliseconds: Int32,
    then next: WorkerState.Continuation,
    at now: Int64
  ) -> WorkerAction {
    producerPauseEnd = now + Int64(waitMilliseconds)
    return enter(.losing(next), .lose(waitMilliseconds: waitMilliseconds))
  }

  // MARK: A producer, outside of transactions

  /// Takes the next step to prepare a producer for transactions.
  ///
  /// Registering it ends the open transaction of an earlier producer with its id, so nothing is restored before.
  mutating func prepareProducer(
    _ event: WorkerEvent,
    at stage: WorkerState.ProducerStage,
    _ now: Int64
  ) -> WorkerAction? {
    switch (stage, event) {
    case (.polling, .polled(let rebalance, _)):
      note(rebalance, at: now)
      guard self.rebalance == nil, now >= producerPauseEnd else { return loop() }
      return enter(.preparing(.calling), .prepareProducer(transactions.step))
    case (.calling, .called(.refused, _)):
      // Records are refused only in transactions.
      return nil
    case (.calling, .called(let outcome, _)) where outcome.fits(transactions.step):
      switch transactions.take(outcome) {
      case .lost(let wait): return lose(waitMilliseconds: wait, then: .loop, at: now)
      case .stop(let error): return enter(.ended, .fail(error))
      case .retry(let wait): producerPauseEnd = now + Int64(wait)
      case .proceed, .pause, .committed, .withdrawn: break
      }
      return loop()
    default:
      return nil
    }
  }
}
