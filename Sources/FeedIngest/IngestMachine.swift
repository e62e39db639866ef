import FeedTransactions
import Kafka
import Service

/// Decides what ingest does: takes an event, and returns the next action.
///
///     starting ─▸ joining ─▸ ┬▸ preparing: a producer is registered
///                            ├▸ positioning: the brokers say what is committed, and reading begins there
///              ╭───────────▸ ├▸ polling ─▸ calling begin, write ─▸ (polling, in the same transaction)
///              │             ├▸ calling addOffsets, commit ─▸ confirming
///              │             ├▸ rebalancing ◂── any poll may bring a rebalance; what was read is committed before
///              │             ╰▸ closing ─▸ ended
///              ╰── rewinding ◂── a transaction that failed, a poll that failed, or input that came twice
///
/// A plain value without clients, clock and log: ``IngestWorker`` does the actions, so every transition is tested without Kafka.
/// There is always exactly one action under way, and ``state`` says which. Any other event than the action's is a broken
/// invariant and ends the process. ``TransactionMachine`` says which call a transaction needs next.
struct IngestMachine: Equatable {
  static let firstAction = IngestAction.findTopics
  /// Between two commits, each of which costs brokers some writes; and the same while the input is behind.
  static let windowMilliseconds: Int64 = 100
  static let backlogWindowMilliseconds: Int64 = 500
  /// The longest wait for input, so that a request to stop is seen soon.
  static let longestPoll: Int64 = 100
  /// How long partitions that are revoked may be kept from the group, which waits for all its members.
  static let leavingMilliseconds: Int64 = 10_000
  private static let retryMilliseconds = ExponentialBackoff<Int64>(from: 20, to: 1_000)

  private(set) var state = IngestState.starting
  private(set) var transactions = TransactionMachine()
  /// The partitions that the group has given.
  private(set) var held: Set<TopicPartition> = []
  /// What a poll has brought and that is not dealt with yet; and when it came, in milliseconds of the monotonic clock, like all times.
  private(set) var rebalance: Rebalance?
  private var rebalanceTime: Int64 = 0
  private var isStopping = false
  private var isBehind = false
  /// Whether the transaction that failed was ended by a request of an earlier one.
  private var isEndedByOther = false

  /// What is read next of each partition, and what is committed, both as far as that is known.
  private(set) var positions: [TopicPartition: Int64] = [:]
  private(set) var committed: [TopicPartition: Int64] = [:]
  /// Whether the consumer reads all partitions from ``positions``; else they are paused.
  private(set) var isPositioned = false
  /// Whether records were polled that are not written yet.
  private var hasInput = false
  /// When the next transaction is to be committed.
  private var nextCommit: Int64 = 0
  /// Before this time nothing is done about the producer, or about positions.
  private var pauseEnd: Int64 = 0
  private var failuresInARow = 0
  /// The partition whose records came twice, until that is reported.
  private var repeated: TopicPartition?

  /// What the next transaction has to commit.
  var offsets: [TopicPartition: Int64] { positions.filter { committed[$0.key] != $0.value } }
  private var hasUncommitted: Bool { positions != committed }
  /// Whether a transaction is open, or can be begun.
  private var isTransacting: Bool { transactions.isInTransaction || transactions.isReady }

  /// The last action is done, and this has happened.
  ///
  /// - Returns: what to do next.
  mutating func handle(_ event: IngestEvent, at now: Int64) -> IngestAction {
    guard let action = transition(event, at: now) else {
      preconditionFailure("the event \(event) is not possible in state \(state)")
    }
    return action
  }

  /// The same; nil, and nothing is changed, if the event is not one of the state's.
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
      // Only transactions have records that are refused.
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

  /// Chooses the next step. A rebalance comes before input, and a commit before both.
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

  /// Goes one step on in a transaction, which it begins if there is none.
  private mutating func transact(at now: Int64) -> IngestAction {
    if transactions.isReady { transactions.begin() }
    if transactions.step == .write, !hasInput {
      // Nothing is left to be written for now.
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
    var effect = transactions.take(outcome)
    if case .retry = effect, now >= min(limit, stopDeadline ?? .max) { effect = transactions.giveUp() }
    // A late request has ended the transaction: the brokers may have its offsets without all of its records.
    if case .failed(let error) = outcome, error.kind == .invalidTransactionState { isEndedByOther = true }
    return handle(effect, at: now)
  }

  /// When to stop trying to commit what fails.
  private var limit: Int64 {
    switch rebalance?.kind {
    case .assigned?, nil: .max
    case .revoking?: rebalanceTime + Self.leavingMilliseconds
    case .lost?: rebalanceTime
    }
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

  /// Reading has failed. A transaction that is open is aborted first.
  private mutating func setBack(at now: Int64) -> IngestAction {
    hasInput = false
    return transactions.isInTransaction ? handle(transactions.giveUp(), at: now) : rewind(nil, at: now)
  }

  /// Goes back to what is committed.
  private mutating func rewind(_ end: IngestAction.TransactionEnd?, at now: Int64) -> IngestAction {
    failuresInARow += 1
    pauseEnd = max(pauseEnd, now + Self.retryMilliseconds[failuresInARow - 1])
    if !isEndedByOther { committed = [:] }
    defer { repeated = nil }
    (positions, isPositioned, hasInput, isEndedByOther) = (committed, false, false, false)
    return enter(.rewinding, .rewind(end, repeated: repeated))
  }
}

/// What ingest is doing: the action whose result it waits for.
enum IngestState: Equatable {
  /// Brokers and topics are looked for.
  case starting
  case joining
  /// The group is polled while no input is read.
  case idling
  /// A producer is made or registered.
  case preparing
  /// The consumer is sent to where reading begins.
  case positioning
  case polling
  /// The call of ``TransactionMachine/step`` is made.
  case calling
  /// Time passes before the same call is made again.
  case waiting
  /// A committed transaction is reported.
  case confirming
  /// What was read and is not committed is dropped.
  case rewinding
  /// A rebalance is completed, or the consumer replaced.
  case rebalancing
  case closing
  case ended
}

/// What ingest has to do next. Its result is the event that is named, which goes to the machine.
enum IngestAction: Equatable {
  /// Wait for brokers and topics: ``IngestEvent/topicsFound(isStopping:)``.
  case findTopics
  /// Join the group: ``IngestEvent/done``.
  case join
  /// Poll for input: ``IngestEvent/polled(_:)``, or ``IngestEvent/failed(_:)``.
  case poll(timeoutMilliseconds: Int32)
  /// Poll, and discard what input comes; with the same events.
  case pollWithoutInput(timeoutMilliseconds: Int32)
  /// Have these partitions read from the known positions, and from committed offsets otherwise:
  /// ``IngestEvent/positioned(_:)`` with the latter, or ``IngestEvent/failed(_:)``.
  case position(Set<TopicPartition>, known: [TopicPartition: Int64])
  /// Make the call of this step towards a producer, outside of transactions: ``IngestEvent/called(_:stopDeadline:)``.
  case prepareProducer(TransactionMachine.Step)
  /// Make the call of this step of a transaction: ``IngestEvent/called(_:stopDeadline:)``. `write` maps what was polled.
  case call(TransactionMachine.Step)
  /// Serve the producer for this long: ``IngestEvent/done``.
  case wait(milliseconds: Int32)
  /// Report what was committed: ``IngestEvent/done``.
  case confirm
  /// Forget what was polled and mapped since the last commit: ``IngestEvent/done``. If a partition is named, records of it
  /// came that had come before.
  case rewind(TransactionEnd?, repeated: TopicPartition?)
  /// Complete a rebalance: ``IngestEvent/done``.
  case complete(Rebalance)
  /// Replace the consumer, whose membership cannot be relied on, and join the group: ``IngestEvent/done``.
  case replaceConsumer
  /// Leave the group and close the clients: ``IngestEvent/done``.
  case close
  /// Nothing: ingest has ended.
  case end
  /// End with an error that requires an operator.
  case fail(KafkaError)

  /// How a transaction has failed.
  enum TransactionEnd: Equatable {
    case withdrawn
    case lost(waitMilliseconds: Int32)
  }
}

/// The result of the action that the machine has returned last.
enum IngestEvent: Equatable {
  case done
  /// The topics are there, or the end was asked for first.
  case topicsFound(isStopping: Bool)
  case polled(Poll)
  /// These partitions are read from here; the others from where they were.
  case positioned([TopicPartition: Int64])
  case failed(KafkaError)
  /// A call was made. The deadline is the end of the time for stopping, if that was asked for.
  case called(TransactionMachine.Outcome, stopDeadline: Int64?)

  struct Poll: Equatable {
    var rebalance: Rebalance?
    var input: [InputSpan] = []
    /// Where partitions were found to end.
    var ends: [TopicPartitionOffset] = []
    var isStopping = false
    /// Whether much input is left to be read.
    var isBehind = false
  }
}
