import FeedTransactions
import Kafka

/// Decides a worker's actions: takes an event, and returns the next action.
///
///     starting ─▸ joining ─▸ applying ─▸ looking ─┬▸ polling ─▸ (applying), or restoring ─▸ (applying)
///                               ▴  │              ├▸ preparing: a producer
///                               │  │              ├▸ flushing: transactions, until all changes are committed
///          any poll may bring   │  ╰▸ flushing    ╰▸ flushing ─▸ closing ─▸ ended
///          a rebalance: next    ╰─ rebalancing ◂── before a batch or a slice of it
///
/// A plain value without clients, clock and log: ``Worker`` performs the actions, so tests need no Kafka.
/// Exactly one action is in progress at any time. ``state`` names it, and holds the data that is needed only
/// until it ends. Each action has its event (``WorkerAction``). Any other event is a broken invariant and ends the process.
///
/// ``partitions`` and ``positions`` hold each partition's state, and ``Restoration`` its feeds' progress in restoring.
struct WorkerMachine: Equatable {
  static let firstAction = WorkerAction.findTopics
  /// After this time, all brokers know new topics.
  static let rejoinMilliseconds: Int64 = 5_000
  /// The longest wait for a producer between two polls of the group.
  static let longestProducerPause: Int64 = 100
  /// The longest wait for input, so that a request to stop is seen soon.
  static let longestPoll: Int64 = 100

  /// Set by the machine's own files only.
  var state = WorkerState.starting
  var partitions = PartitionTable()
  /// The positions of the served partitions.
  var positions = InputPositions()
  /// The rebalance that a poll returned, until it is handled.
  var rebalance: Rebalance?
  /// When the poll returned it, in milliseconds of the monotonic clock, like all times.
  var rebalanceTime: Int64 = 0

  var transactions = TransactionMachine()
  /// The time before which the producer is left alone.
  var producerPauseEnd: Int64 = 0

  /// When to join the group again; nil if not planned.
  ///
  /// The group's leader asks an arbitrary broker for the partitions to assign. If the topics have just been created, that
  /// broker may know only one of them, or none; librdkafka 2.0.2 does not notice, and no member gets the input. A
  /// worker beyond the number of partitions has no share either, so each worker joins again at most once.
  var rejoinTime: Int64?
  var hasRejoined = false

  /// Handles the result of the last action.
  ///
  /// - Returns: the next action.
  mutating func handle(_ event: WorkerEvent, at now: Int64) -> WorkerAction {
    guard let action = transition(event, at: now) else {
      preconditionFailure("the event \(event) is not possible in state \(state)")
    }
    return action
  }

  /// The same; returns nil without a change if the state does not expect the event.
  mutating func transition(_ event: WorkerEvent, at now: Int64) -> WorkerAction? {
    switch (state, event) {
    case (.starting, .topicsChecked(let isStopping)):
      return isStopping ? go(on: .close, at: now) : enter(.joining, .join)
    case (.joining, .done):
      return loop()

    case (.applying, .applied(.everything)):
      return resumeInput(then: .look, at: now)
    case (.applying, .applied(.slice)):
      return enter(.betweenSlices, serveGroup())
    case (.applying, .applied(.untilFlush)) where transactions.isReady:
      return flush(then: .loop, at: now)
    case (.betweenSlices, .groupServed(let rebalance, let isPaused)):
      noteService(rebalance, isPaused: isPaused, at: now)
      return loop()
    case (.resuming(let next), .resumed(.failed)):
      return restoreAgain(then: next)
    case (.resuming(let next), .resumed(let resumption)):
      if resumption == .done { partitions.resume() }
      return go(on: next, at: now)

    case (.looking, .looked(let ends, let deadline, let restoreTime, let isStopping)):
      positions.reach(ends)
      return choose(deadline: deadline, restoreTime: restoreTime, isStopping: isStopping, at: now)
    case (.rejoining, .done):
      return enter(.looking, .look)
    case (.polling(let restores), .polled(let rebalance, let input)):
      note(rebalance, at: now)
      let next: WorkerState.Continuation = restores && self.rebalance == nil ? .restore : .loop
      // Applying them again would reject or delete some records a second time.
      if let repeated = positions.take(input) {
        return enter(.rollingBack(next, rewindsAlways: true), .rollBack(repeated: repeated))
      }
      return go(on: next, at: now)
    case (.restoring, .restored(let starts)):
      partitions.serve(Set(starts.map(\.partition)))
      positions.begin(at: starts)
      return loop()

    case (.preparing(let stage), _):
      return prepareProducer(event, at: stage, now)
    case (.flushing(let flush, let stage), _):
      return goOn(with: flush, event, at: stage, now)
    case (.rebalancing(let stage), _):
      return rebalance(event, at: stage, now)

    case (.losing(let next), .done): return restoreAgain(then: next)
    case (.rollingBack(let next, let rewindsAlways), .rolledBack(let wasPending)):
      return wasPending || rewindsAlways ? rewind(then: next) : go(on: next, at: now)
    case (.rewinding(let next), .sought(let isDone)):
      // If it failed, the reading position is unknown; a restoration repeats its seek until it succeeds.
      return isDone ? go(on: next, at: now) : restoreAgain(then: next)
    case (.restoringAgain(let next), .done):
      return go(on: next, at: now)

    case (.closing, .done):
      return enter(.ended, .end)
    default:
      return nil
    }
  }

  // MARK: The loop

  /// Begins the loop. A rebalance precedes input.
  mutating func loop() -> WorkerAction {
    rebalance == nil ? enter(.applying, .apply) : beginRebalance()
  }

  mutating func go(on next: WorkerState.Continuation, at now: Int64) -> WorkerAction {
    switch next {
    case .loop: loop()
    case .look: enter(.looking, .look)
    case .restore: enter(.restoring, .restore)
    case .endFlush(let flush, let wait):
      wait > 0
        ? enter(.flushing(flush, .pausing), .wait(milliseconds: wait))
        : resumeInput(then: flush.next, at: now)
    case .checkLeavingAgain: checkLeavingAgain()
    case .giveUp: giveUp()
    case .close: enter(.closing, .close)
    }
  }

  /// Chooses the next step.
  ///
  /// - Parameters:
  ///   - deadline: when the pending changes are due; nil if there are none.
  ///   - restoreTime: when the next step of the restoration may be taken; nil if no partition is being restored.
  private mutating func choose(
    deadline: Int64?,
    restoreTime: Int64?,
    isStopping: Bool,
    at now: Int64
  ) -> WorkerAction {
    if let time = rejoinTime, now >= time, !isStopping {
      rejoinTime = nil
      hasRejoined = true
      return enter(.rejoining, .rejoin)
    }
    if isStopping {
      return deadline != nil && transactions.isReady ? flush(then: .close, at: now) : go(on: .close, at: now)
    }
    guard transactions.isReady else {
      let pause = max(0, min(producerPauseEnd - now, Self.longestProducerPause))
      return enter(.preparing(.polling), .pollWithoutInput(timeoutMilliseconds: Int32(pause)))
    }
    // Served partitions continue while others are restored.
    if let deadline, deadline <= now { return flush(then: .loop, at: now) }
    if let restoreTime, restoreTime <= now {
      return enter(.polling(restores: true), .poll(timeoutMilliseconds: 0))
    }
    let wait = min(min(deadline ?? .max, restoreTime ?? .max) - now, Self.longestPoll)
    return enter(.polling(restores: false), .poll(timeoutMilliseconds: Int32(wait)))
  }

  mutating func enter(_ state: WorkerState, _ action: WorkerAction) -> WorkerAction {
    self.state = state
    return action
  }

  // MARK: The group and the input

  mutating func note(_ rebalance: Rebalance?, at now: Int64) {
    guard let rebalance else { return }
    self.rebalance = rebalance
    rebalanceTime = now
  }

  func serveGroup() -> WorkerAction { .serveGroup(pausing: partitions.inputs(.serving)) }

  mutating func noteService(_ rebalance: Rebalance?, isPaused: Bool, at now: Int64) {
    if isPaused { partitions.pause() }
    note(rebalance, at: now)
  }

  mutating func resumeInput(then next: WorkerState.Continuation, at now: Int64) -> WorkerAction {
    guard partitions.has(.paused) else { return go(on: next, at: now) }
    return enter(.resuming(next), .resumeInput(partitions.inputs(.paused)))
  }

  // MARK: Restoring

  /// Returns to the committed offsets of all partitions.
  mutating func rewind(then next: WorkerState.Continuation) -> WorkerAction {
    positions.rewind()
    return enter(.rewinding(next), .rewind(positions.resume))
  }

  /// Restores all retained partitions from the published records.
  mutating func restoreAgain(then next: WorkerState.Continuation) -> WorkerAction {
    let numbers = partitions.numbers
    positions.remove(numbers)
    partitions.restoreAgain()
    return enter(
      .restoringAgain(next),
      .restoreAgain(dropping: numbers, restoring: partitions.inputs(.assigned))
    )
  }
}
