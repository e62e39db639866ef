@testable import FeedTransactions
@testable import FeedWorker
@testable import Kafka

/// Worker machines on short ways to each of their states, and samples of all events.
enum WorkerMachineStates {
  static let partitions = [0, 1].map { TopicPartition(topic: "items", partition: $0) }
  static let starts = partitions.map { TopicPartitionOffset($0, offset: 7) }
  static let assigned = Rebalance(.assigned, partitions)
  static let revoking = Rebalance(.revoking, [partitions[0]])
  static let lost = Rebalance(.lost, partitions)
  static let evicted = Rebalance(.lost, partitions, needsNewConsumer: true)

  // MARK: Ways

  static func called(_ outcome: TransactionMachine.Outcome) -> WorkerEvent {
    .called(outcome, stopDeadline: nil)
  }
  static func polled(_ rebalance: Rebalance?) -> WorkerEvent { .polled(rebalance, []) }
  /// A record before those that are to come next.
  static let repeatedInput = [InputSpan(partition: partitions[0], first: 6, last: 6)]
  static let idle = WorkerEvent.looked(ends: [], deadline: nil, isStopping: false)
  static let toRestore = WorkerEvent.looked(ends: [], deadline: nil, restoreTime: 0, isStopping: false)
  static let due = WorkerEvent.looked(ends: [], deadline: 0, isStopping: false)
  static let wrote = called(.wrote(endsTransaction: true, isLast: true))
  static let notDue = WorkerEvent.schedule(isPollDue: false)

  static let toJoining: [WorkerEvent] = [.topicsChecked(isStopping: false)]
  static let toApplying = toJoining + [.done]
  static let toLooking = toApplying + [.applied(.everything)]
  static let toPreparing = toLooking + [idle]
  static let toRegistering = toPreparing + [polled(nil)]
  /// With a producer and without partitions.
  static let toReady = toRegistering + [called(.succeeded)]
  static let toPolling = toReady + [.applied(.everything), idle]
  static let toAccepting = toPolling + [polled(assigned)]
  static let toTaking = toAccepting + [.done]
  static let toReadingOn = toTaking + [.done]
  static let toFirstSteps = toReadingOn + [.sought(isDone: true), .applied(.everything), toRestore]
  static let toRestoring = toFirstSteps + [polled(nil)]
  /// With both partitions served.
  static let toServing = toRestoring + [.restored(starts)]
  static let toWaiting = toServing + [.applied(.everything), idle]
  static let toFlush = toServing + [.applied(.everything), due]
  static let toBegin = toFlush + [.done]
  static let toWriting = toBegin + [called(.succeeded), notDue]
  static let toOffsets = toWriting + [wrote, notDue]
  static let toCommitting = toOffsets + [called(.succeeded), notDue]
  static let toConfirming = toCommitting + [called(.succeeded)]
  /// The second transaction of a flush, after the first has lost a connection.
  static let toReplacingBefore =
    toWriting + [
      called(.wrote(endsTransaction: true, isLast: false)), notDue, called(.succeeded), notDue,
      called(.committedDespiteDisconnect), .confirmed([]), notDue,
    ]
  static let toAborting = toWriting + [called(.failed(KafkaErrors.abortable)), notDue]
  static let toWithdrawing =
    toAborting + [
      called(.succeeded), notDue, called(.succeeded), .done, notDue,
      called(.succeeded),
    ]
  static let toLosing = toCommitting + [called(.failed(KafkaErrors.fatal))]
  static let toPaused = toServing + [.applied(.slice), .groupServed(nil, isPaused: true)]
  static let toChecking = toWaiting + [polled(revoking)]
  static let toLeaving = toChecking + [.pending(true)]
  static let toLeft = toChecking + [.pending(false)]
  static let toLost = toWaiting + [polled(lost)]
  static let toStopping =
    toServing + [.applied(.everything), .looked(ends: [], deadline: 0, isStopping: true)]

  /// What leads from the start to each state, by name.
  static let ways: [(name: String, events: [WorkerEvent])] = [
    ("starting", []),
    ("joining", toJoining),
    ("applying", toServing),
    ("between slices", toServing + [.applied(.slice)]),
    ("resuming", toPaused + [.applied(.everything)]),
    ("looking", toServing + [.applied(.everything)]),
    ("rejoining", toRejoining),
    ("polling", toWaiting),
    ("polling before a step in restoring", toFirstSteps),
    ("preparing a producer: polling", toPreparing),
    ("preparing a producer: calling", toRegistering),
    (
      "preparing another producer",
      toLosing + [.done, .done, .applied(.everything), idle, polled(nil)]
    ),
    ("restoring", toRestoring),
    ("flush: beginning", toFlush),
    ("flush: beginning a transaction", toBegin),
    ("flush: writing", toWriting),
    ("flush: adding offsets", toOffsets),
    ("flush: committing", toCommitting),
    ("flush: aborting", toAborting),
    ("flush: replacing the producer", toAborting + [called(.succeeded), notDue]),
    (
      "flush: registering the producer",
      toAborting + [
        called(.succeeded), notDue, called(.succeeded), .done, notDue,
      ]
    ),
    ("flush: replacing the producer before a transaction", toReplacingBefore),
    (
      "flush: registering the producer before a transaction",
      toReplacingBefore + [called(.succeeded), notDue]
    ),
    ("flush: waiting", toBegin + [called(.failed(KafkaErrors.retriable))]),
    ("flush: checking the schedule", toBegin + [called(.succeeded)]),
    ("flush: serving the group", toBegin + [called(.succeeded), .schedule(isPollDue: true)]),
    ("flush: confirming", toConfirming),
    ("flush: withdrawing", toWithdrawing),
    ("flush: pausing", toPausing),
    ("losing", toLosing),
    ("rolling back repeated input", toWaiting + [.polled(nil, repeatedInput)]),
    ("rolling back lost partitions", toLost),
    ("rewinding", toWithdrawing + [.done]),
    ("restoring again", toLosing + [.done]),
    ("rebalance: accepting", toAccepting),
    ("rebalance: taking", toTaking),
    ("rebalance: checking", toChecking),
    ("rebalance: checking again", toCheckingAgain),
    ("rebalance: giving up", toLeft),
    ("rebalance: completing", toLeft + [.done]),
    ("rebalance: reading on", toReadingOn),
    ("rebalance: replacing the consumer", toReplacing),
    ("closing", [.topicsChecked(isStopping: true)]),
    ("ended", [.topicsChecked(isStopping: true), .done]),
  ]

  private static let toRejoining: [WorkerEvent] =
    toPolling + [
      polled(Rebalance(.assigned, [])), .done, .done, .sought(isDone: true), .applied(.everything),
    ]
  /// A second abort in a row: before it, nothing is waited for.
  private static let toPausing: [WorkerEvent] =
    toWithdrawing + [.done, .sought(isDone: true)] + toWithdrawing.dropFirst(toServing.count)
    + [.done, .sought(isDone: true)]
  private static let toCheckingAgain: [WorkerEvent] =
    toLeaving + [.done] + toConfirming.dropFirst(toBegin.count) + [.confirmed([])]
  private static let toReplacing: [WorkerEvent] =
    toWaiting + [polled(evicted), .rolledBack(wasPending: false), .done]

  /// A machine that has come that way, and the action that is under way; at time 0.
  static func machine(_ events: [WorkerEvent]) -> (machine: WorkerMachine, action: WorkerAction) {
    var machine = WorkerMachine()
    var action = WorkerMachine.firstAction
    for event in events { action = machine.handle(event, at: 0) }
    return (machine, action)
  }

  /// A machine in the state of this name.
  static func machine(named name: String) -> (machine: WorkerMachine, action: WorkerAction)? {
    guard let way = ways.first(where: { $0.name == name }) else { return nil }
    var (machine, action) = machine(way.events)
    if name == "rejoining" { action = machine.handle(idle, at: WorkerMachine.rejoinMilliseconds) }
    return (machine, action)
  }

  // MARK: Events

  /// Every event, with every result that is decided differently.
  static let events: [WorkerEvent] =
    [
      .done, .topicsChecked(isStopping: false), .topicsChecked(isStopping: true), .applied(.everything),
      .applied(.slice), .applied(.untilFlush), idle, due, toRestore,
      .looked(ends: [], deadline: 5_000, restoreTime: 60, isStopping: false),
      .looked(ends: [], deadline: 5_000, isStopping: false),
      .looked(ends: [], deadline: nil, isStopping: true), .looked(ends: [], deadline: 0, isStopping: true),
      .polled(nil, repeatedInput), .schedule(isPollDue: false), .schedule(isPollDue: true),
      .groupServed(nil, isPaused: false), .groupServed(nil, isPaused: true), .resumed(.done),
      .resumed(.postponed), .resumed(.failed), .sought(isDone: true), .sought(isDone: false),
      .restored([]), .restored(starts), .confirmed([]),
      .rolledBack(wasPending: false), .rolledBack(wasPending: true), .pending(false), .pending(true), wrote,
      called(.wrote(endsTransaction: false, isLast: false)), called(.succeeded),
      called(.committedDespiteDisconnect), called(.refused(KafkaErrors.permanent)),
    ]
    + [nil, revoking, lost, evicted].flatMap { [polled($0), .groupServed($0, isPaused: false)] }
    + [KafkaErrors.retriable, KafkaErrors.abortable, KafkaErrors.fatal, KafkaErrors.permanent].map {
      called(.failed($0))
    }
}

extension WorkerEvent {
  /// Its name.
  var kind: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }
}

extension WorkerAction {
  /// The event that tells what came of it; nil for those after which nothing comes.
  var eventKind: String? {
    switch self {
    case .join, .rejoin, .replaceConsumer, .close, .restoreAgain, .beginFlush, .wait, .withdraw, .lose,
      .complete, .take, .giveUp:
      "done"
    case .findTopics: "topicsChecked"
    case .end, .fail: nil
    case .apply: "applied"
    case .look: "looked"
    case .poll, .pollWithoutInput: "polled"
    case .checkSchedule: "schedule"
    case .serveGroup: "groupServed"
    case .resumeInput: "resumed"
    case .rewind, .readOn: "sought"
    case .restore: "restored"
    case .prepareProducer, .call: "called"
    case .confirm: "confirmed"
    case .rollBack: "rolledBack"
    case .checkPending: "pending"
    }
  }
}
