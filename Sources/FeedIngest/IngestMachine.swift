import FeedTransactions
import Kafka
import OperatingSystem

/// Decides the actions of ingest: takes an event, and returns the next action.
///
///     starting ─▸ joining ─▸ ┬▸ preparing: a producer is registered
///                            ├▸ positioning: the brokers report committed offsets, and reading begins there
///              ╭───────────▸ ├▸ polling ─▸ calling begin, write ─▸ (polling, in the same transaction)
///              │             ├▸ calling addOffsets, commit ─▸ confirming
///              │             ├▸ rebalancing ◂── any poll may bring a rebalance; read input is committed before
///              │             ╰▸ closing ─▸ ended
///              ╰── rewinding ◂── a failed transaction, a failed poll, or repeated input
///
/// A plain value without clients, clock and log: ``IngestWorker`` performs the actions, so tests need no
/// Kafka. Exactly one action is in progress at any time, and ``state`` names it. Any event of another action
/// is a broken invariant and ends the process. ``TransactionMachine`` decides the next call of a transaction.
struct IngestMachine: Equatable {
  static let firstAction = IngestAction.findTopics
  /// The interval of commits, each of which costs brokers some writes; and the one while the input is behind.
  static let windowMilliseconds: Int64 = 100
  static let backlogWindowMilliseconds: Int64 = 500
  /// The longest wait for input, so that a request to stop is seen soon.
  static let longestPoll: Int64 = 100
  private static let retryMilliseconds = ExponentialBackoff<Int64>(from: 20, to: 1_000)

  private(set) var state = IngestState.starting
  private(set) var transactions = TransactionMachine()
  /// The partitions that the group has assigned.
  private(set) var held: Set<TopicPartition> = []
  /// The rebalance that a poll returned, until it is handled; and the time of that poll, in milliseconds of the monotonic clock.
  private(set) var rebalance: Rebalance?
  private var rebalanceTime: Int64 = 0
  private var isStopping = false
  private var isBehind = false
  /// Whether a request of an earlier transaction has ended the failed one.
  private var isEndedByOther = false
  /// Whether the commit of the transaction was requested, so that it may have happened.
  private var isCommitRequested = false

  /// The known next offset and the known committed offset of each partition.
  private(set) var positions: [TopicPartition: Int64] = [:]
  private(set) var committed: [TopicPartition: Int64] = [:]
  /// Whether the consumer reads all partitions from ``positions``; otherwise they are paused.
  private(set) var isPositioned = false
  /// Whether polled records are not written yet.
  private var hasInput = false
  /// When to commit the next transaction.
  private var nextCommit: Int64 = 0
  /// The time before which the producer and the positions are left alone.
  private var pauseEnd: Int64 = 0
  private var failuresInARow = 0
  /// The partition with repeated records, until it is reported.
  private var repeated: TopicPartition?

  /// The offsets that the next transaction has to commit.
  var offsets: [TopicPartition: Int64] { positions.filter { committed[$0.key] != $0.value } }
  private var hasUncommitted: Bool { positions != committed }
  /// Whether a transaction is open, or can begin.
  private var isTransacting: Bool { transactions.isInTransaction || transactions.isReady }

  /// Handles the result of the last action.
  ///
  /// - Returns: the next action.
  mutating func handle(_ event: IngestEvent, at now: Int64) -> IngestAction {
    guard let action = transition(event, at: now) else {
      preconditionFailure("the event \(event) is not possible in state \(state)")
    }
    return action
  }

  /// The same; returns nil without a change if the state does not expect the event.
  mutating func transition(_ event: IngestEvent, at now: Int64) -> IngestAction? {
    switch (state, event) {
    case (.starting, .topicsFound(let isStopping)):
      return isStopping ? enter(.closing, .close) : enter(.joining, .join)
    case (.joining, .done), (.rewinding, .done):
      return next(at: now)

    case (.idling, .polled(let poll)):
      note(poll, at: now)
      if rebalance != nil || isStopping || now < pauseEnd { return next(at: now) }
      return transactions.isReady
        ? enter(.positioning, .position(held, known: positions))
        : enter(.preparing, .prepareProducer(transactions.step))
    case (.preparing, .called(let outcome, _)) where outcome.fits(transactions.step):
      // Records are refused only in transactions.
      if case .refused = outcome { return nil }
      switch transactions.take(outcome) {
      case .stop(let error): return enter(.ended, .fail(error))
      case .retry(let wait), .lost(let wait): pauseEnd = now + Int64(wait)
      case .proceed, .pause, .committed, .withdrawn: break
      }
      return next(at: now)
    case (.positioning, .positioned(let starts)):
      committed.merge(starts) { $1 }
      positions.merge(starts) { $1 }
      isPositioned = true
      return next(at: now)
    case (.polling, .polled(let poll)):
      note(poll, at: now)
      if rebalance != nil { return next(at: now) }
      if let span = poll.input.first(where: { $0.first < positions[$0.partition] ?? .max }) {
        repeated = span.partition
        return setBack(at: now)
      }
      for span in poll.input { positions[span.partition] = span.last + 1 }
      // Markers of transactions may follow the last records.
      for end in poll.ends where end.offset > positions[end.topicPartition] ?? .max {
        positions[end.topicPartition] = end.offset
      }
      hasInput = !poll.input.isEmpty
      return hasInput ? transact(at: now) : next(at: now)
    case (.idling, .failed), (.positioning, .failed), (.polling, .failed):
      return setBack(at: now)

    case (.calling, .called(let outcome, let stopDeadline)) where outcome.fits(transactions.step):
      return take(outcome, stopDeadline: stopDeadline, at: now)
    case (.waiting, .done):
      return transact(at: now)
    case (.confirming, .done):
      (committed, failuresInARow) = (positions, 0)
      nextCommit = now + (isBehind ? Self.backlogWindowMilliseconds : Self.windowMilliseconds)
      return next(at: now)

    case (.rebalancing, .done):
      completeRebalance()
      return next(at: now)
    case (.closing, .done):
      return enter(.ended, .end)
    default:
      return nil
    }
  }

  // MARK: The loop

  /// Chooses the next step. A rebalance precedes input, and a commit precedes both.
  private mutating func next(at now: Int64) -> IngestAction {
    if let rebalance {
      if rebalance.kind == .lost {
        // Another member may own the partitions already.
        if transactions.isInTransaction { return handle(transactions.giveUp(), at: now) }
      } else if hasUncommitted, isPositioned, isTransacting {
        return transact(at: now)
      }
      (hasInput, isPositioned) = (false, false)
      return enter(.rebalancing, rebalance.needsNewConsumer ? .replaceConsumer : .complete(rebalance))
    }
    if isStopping {
      return hasUncommitted && isPositioned && isTransacting ? transact(at: now) : enter(.closing, .close)
    }
    guard isPositioned, isTransacting else {
      let wait = Int32(max(0, min(pauseEnd - now, Self.longestPoll)))
      return enter(.idling, .pollWithoutInput(timeoutMilliseconds: wait))
    }
    if hasUncommitted, now >= nextCommit { return transact(at: now) }
    let wait = hasUncommitted ? min(nextCommit - now, Self.longestPoll) : Self.longestPoll
    return enter(.polling, .poll(timeoutMilliseconds: Int32(wait)))
  }

  private mutating func enter(_ state: IngestState, _ action: IngestAction) -> IngestAction {
    self.state = state
    return action
  }

  private mutating func note(_ poll: IngestEvent.Poll, at now: Int64) {
    (isStopping, isBehind) = (poll.isStopping, poll.isBehind)
    guard let rebalance = poll.rebalance else { return }
    self.rebalance = rebalance
    rebalanceTime = now
  }

  private mutating func completeRebalance() {
    guard let rebalance else { preconditionFailure("there is no rebalance in state \(state)") }
    self.rebalance = nil
    if rebalance.needsNewConsumer {
      held = []
    } else if rebalance.kind == .assigned {
      held.formUnion(rebalance.partitions)
    } else {
      held.subtract(rebalance.partitions)
    }
    committed = committed.filter { held.contains($0.key) }
    positions = committed
  }

  // MARK: Transactions

  /// Takes the next step of a transaction, and begins one if none is open.
  private mutating func transact(at now: Int64) -> IngestAction {
    if transactions.isReady { transactions.begin() }
    if transactions.step == .write, !hasInput {
      // All polled records are written.
      guard now >= nextCommit || rebalance != nil || isStopping else { return next(at: now) }
      transactions.finishWriting()
    }
    return enter(.calling, .call(transactions.step))
  }

  private mutating func take(
    _ outcome: TransactionMachine.Outcome,
    stopDeadline: Int64?,
    at now: Int64
  ) -> IngestAction {
    if case .wrote = outcome { hasInput = false }
    let step = transactions.step
    isCommitRequested = step == .commit || step == .abort && isCommitRequested
    var effect = transactions.take(outcome)
    let limit = rebalance?.retryLimit(since: rebalanceTime) ?? .max
    if case .retry = effect, now >= min(limit, stopDeadline ?? .max) { effect = transactions.giveUp() }
    // A late request has ended the transaction: the brokers may have its offsets without all of its records.
    // An abort is refused as well if the requested commit has happened.
    if case .failed(let error) = outcome, error.kind == .invalidTransactionState {
      isEndedByOther = step != .abort || !isCommitRequested
    }
    return handle(effect, at: now)
  }

  private mutating func handle(_ effect: TransactionMachine.Effect, at now: Int64) -> IngestAction {
    switch effect {
    case .proceed:
      return transactions.isInTransaction ? transact(at: now) : next(at: now)
    case .retry(let milliseconds), .pause(let milliseconds):
      return enter(.waiting, .wait(milliseconds: milliseconds))
    case .committed:
      return enter(.confirming, .confirm)
    case .withdrawn(let wait):
      pauseEnd = now + Int64(wait)
      return rewind(.withdrawn, at: now)
    case .lost(let wait):
      pauseEnd = now + Int64(wait)
      return rewind(.lost(waitMilliseconds: wait), at: now)
    case .stop(let error):
      return enter(.ended, .fail(error))
    }
  }

  // MARK: Failures

  /// Handles a failure to read. An open transaction is aborted first.
  private mutating func setBack(at now: Int64) -> IngestAction {
    hasInput = false
    return transactions.isInTransaction ? handle(transactions.giveUp(), at: now) : rewind(nil, at: now)
  }

  /// Returns to the committed offsets.
  private mutating func rewind(_ end: IngestAction.TransactionEnd?, at now: Int64) -> IngestAction {
    failuresInARow += 1
    pauseEnd = max(pauseEnd, now + Self.retryMilliseconds[failuresInARow - 1])
    if !isEndedByOther { committed = [:] }
    defer { repeated = nil }
    (positions, isPositioned, hasInput, isEndedByOther) = (committed, false, false, false)
    return enter(.rewinding, .rewind(end, repeated: repeated))
  }
}

/// The state of ingest: the action whose result it awaits.
enum IngestState: Equatable {
  /// Waits for brokers and topics.
  case starting
  case joining
  /// Polls the group while no input is read.
  case idling
  /// Creates or registers a producer.
  case preparing
  /// Moves the consumer to the start of reading.
  case positioning
  case polling
  /// Makes the call of ``TransactionMachine/step``.
  case calling
  /// Waits before it makes the same call again.
  case waiting
  /// Reports a committed transaction.
  case confirming
  /// Drops uncommitted input.
  case rewinding
  /// Completes a rebalance, or replaces the consumer.
  case rebalancing
  case closing
  case ended
}

/// The next action of ingest. The worker passes the named event, which is the result, to the machine.
enum IngestAction: Equatable {
  /// Wait for brokers and topics: ``IngestEvent/topicsFound(isStopping:)``.
  case findTopics
  /// Join the group: ``IngestEvent/done``.
  case join
  /// Poll for input: ``IngestEvent/polled(_:)``, or ``IngestEvent/failed(_:)``.
  case poll(timeoutMilliseconds: Int32)
  /// Poll, and discard any input; with the same events.
  case pollWithoutInput(timeoutMilliseconds: Int32)
  /// Read these partitions from the known positions, or else from their committed offsets:
  /// ``IngestEvent/positioned(_:)`` with the latter, or ``IngestEvent/failed(_:)``.
  case position(Set<TopicPartition>, known: [TopicPartition: Int64])
  /// Make the call of this step to prepare a producer: ``IngestEvent/called(_:stopDeadline:)``.
  case prepareProducer(TransactionMachine.Step)
  /// Make the call of this step of a transaction: ``IngestEvent/called(_:stopDeadline:)``. `write` maps polled records.
  case call(TransactionMachine.Step)
  /// Serve the producer for this long: ``IngestEvent/done``.
  case wait(milliseconds: Int32)
  /// Report the committed records: ``IngestEvent/done``.
  case confirm
  /// Drop the records polled and mapped since the last commit: ``IngestEvent/done``. If a partition is named,
  /// its records were received twice.
  case rewind(TransactionEnd?, repeated: TopicPartition?)
  /// Complete a rebalance: ``IngestEvent/done``.
  case complete(Rebalance)
  /// Replace the consumer, whose membership is unreliable, and join the group: ``IngestEvent/done``.
  case replaceConsumer
  /// Leave the group and close the clients: ``IngestEvent/done``.
  case close
  /// Nothing: ingest has ended.
  case end
  /// End with an error that requires an operator.
  case fail(KafkaError)

  /// The outcome of a failed transaction.
  enum TransactionEnd: Equatable {
    case withdrawn
    case lost(waitMilliseconds: Int32)
  }
}

/// The result of the machine's last action.
enum IngestEvent: Equatable {
  case done
  /// The topics exist, or a stop was requested first.
  case topicsFound(isStopping: Bool)
  case polled(Poll)
  /// These partitions are read from these offsets; the others from their known positions.
  case positioned([TopicPartition: Int64])
  case failed(KafkaError)
  /// A call was made. The deadline is the end of the time for stopping, if a stop was requested.
  case called(TransactionMachine.Outcome, stopDeadline: Int64?)

  struct Poll: Equatable {
    var rebalance: Rebalance?
    var input: [InputSpan] = []
    /// The ends of partitions that the poll has reached.
    var ends: [TopicPartitionOffset] = []
    var isStopping = false
    /// Whether many records are unread.
    var isBehind = false
  }
}
