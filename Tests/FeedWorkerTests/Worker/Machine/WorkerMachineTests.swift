import Testing

@testable import FeedTransactions
@testable import FeedWorker
@testable import Kafka

/// Sequences of actions, step by step.
struct WorkerMachineTests {
  private typealias States = WorkerMachineStates
  private static let items = WorkerMachineStates.partitions

  /// Passes events to a machine one by one.
  ///
  /// - Returns: the action after each event.
  private func actions(
    _ machine: inout WorkerMachine,
    _ events: WorkerEvent...,
    at now: Int64 = 0
  ) -> [WorkerAction] {
    events.map { machine.handle($0, at: now) }
  }

  private func machine(_ way: [WorkerEvent]) -> WorkerMachine { States.machine(way).machine }

  @Test func `what is assigned is accepted, restored and then served`() {
    var machine = machine(States.toPolling)
    #expect(
      actions(&machine, States.polled(States.assigned), .done, .done, .sought(isDone: true)) == [
        .complete(States.assigned), .take(Self.items, isSettled: true), .readOn([]), .apply,
      ]
    )
    #expect(machine.partitions.inputs(.assigned) == Self.items)
    #expect(
      actions(&machine, .applied(.everything), States.toRestore, States.polled(nil)) == [
        .look, .poll(timeoutMilliseconds: 0), .restore,
      ]
    )
    #expect(actions(&machine, .restored([States.starts[1]])) == [.apply])
    #expect(machine.partitions.inputs(.assigned) == [Self.items[0]])
    #expect(machine.partitions.inputs(.serving) == [Self.items[1]])
    #expect(machine.positions.resume == [States.starts[1]])
  }

  @Test func `a step in restoring that failed is repeated at its time, and input is taken meanwhile`() {
    var machine = machine(States.toRestoring)
    let later = WorkerEvent.looked(ends: [], deadline: nil, restoreTime: 100, isStopping: false)
    #expect(
      actions(&machine, .restored([]), .applied(.everything), later, at: 40) == [
        .apply, .look, .poll(timeoutMilliseconds: 60),
      ]
    )
    #expect(
      actions(&machine, States.polled(nil), .applied(.everything), later, States.polled(nil), at: 100)
        == [
          .apply, .look, .poll(timeoutMilliseconds: 0), .restore,
        ]
    )
  }

  @Test func `a window is published when it is due`() {
    var machine = machine(States.toServing + [.applied(.everything)])
    #expect(
      actions(&machine, .looked(ends: [], deadline: 130, isStopping: false), at: 100) == [
        .poll(timeoutMilliseconds: 30)
      ]
    )
    #expect(
      actions(
        &machine,
        States.polled(nil),
        .applied(.everything),
        .looked(ends: [], deadline: 130, isStopping: false),
        at: 130
      )
        == [.apply, .look, .beginFlush]
    )
  }

  @Test func `a flush of two transactions is confirmed in parts, and the second begins at once`() {
    var machine = machine(States.toWriting)
    let part = States.called(.wrote(endsTransaction: false, isLast: false))
    let end = States.called(.wrote(endsTransaction: true, isLast: false))
    #expect(
      actions(&machine, part, States.notDue, end, States.notDue, States.called(.succeeded), States.notDue)
        == [
          .checkSchedule, .call(.write, until: .max), .checkSchedule, .call(.addOffsets, until: .max),
          .checkSchedule, .call(.commit, until: .max),
        ]
    )
    #expect(
      actions(&machine, States.called(.succeeded), .confirmed([]), States.notDue) == [
        .confirm(isWhole: false, milliseconds: 0), .checkSchedule, .call(.begin, until: .max),
      ]
    )
    #expect(
      actions(
        &machine,
        States.called(.succeeded),
        States.notDue,
        States.wrote,
        States.notDue,
        States.called(.succeeded),
        States.notDue,
        States.called(.succeeded),
        .confirmed([]),
        at: 70
      ).suffix(2) == [.confirm(isWhole: true, milliseconds: 70), .apply]
    )
  }

  @Test func `a transaction that is aborted is withdrawn, and its input is read again`() {
    var machine = machine(States.toWithdrawing)
    #expect(
      actions(&machine, .done, .sought(isDone: true)) == [.rewind(States.starts), .apply]
    )
    #expect(machine.partitions.inputs(.serving) == Self.items)
  }

  @Test func `feeds are restored if the input cannot be read again`() {
    var machine = machine(States.toWithdrawing)
    #expect(
      actions(&machine, .done, .sought(isDone: false), .done) == [
        .rewind(States.starts), .restoreAgain(dropping: [0, 1], restoring: Self.items), .apply,
      ]
    )
    #expect(machine.partitions.inputs(.assigned) == Self.items)
    #expect(machine.positions.resume.isEmpty)
  }

  @Test func `after an unknown outcome nothing is restored before there is another producer`() {
    var machine = machine(States.toLosing)
    #expect(
      actions(&machine, .done, .done, .applied(.everything), States.idle) == [
        .restoreAgain(dropping: [0, 1], restoring: Self.items), .apply, .look,
        .pollWithoutInput(timeoutMilliseconds: 0),
      ]
    )
    #expect(
      actions(
        &machine,
        States.polled(nil),
        States.called(.succeeded),
        .applied(.everything),
        States.idle,
        States.polled(nil),
        States.called(.succeeded),
        .applied(.everything),
        States.toRestore,
        States.polled(nil)
      ) == [
        .prepareProducer(.replace), .apply, .look, .pollWithoutInput(timeoutMilliseconds: 0),
        .prepareProducer(.register), .apply, .look, .poll(timeoutMilliseconds: 0), .restore,
      ]
    )
  }

  @Test func `a producer that cannot be registered yet is waited for with polls of the group`() {
    var machine = machine(States.toRegistering)
    #expect(
      actions(
        &machine,
        States.called(.failed(KafkaErrors.retriable)),
        .applied(.everything),
        States.idle,
        at: 50
      ) == [.apply, .look, .pollWithoutInput(timeoutMilliseconds: 10)]
    )
    #expect(actions(&machine, States.polled(nil), at: 55) == [.apply])
    #expect(
      actions(&machine, .applied(.everything), States.idle, States.polled(nil), at: 60).last
        == .prepareProducer(.register)
    )
  }

  // MARK: Slices and polls

  @Test func `between slices input is paused once, and it is resumed after the last`() {
    var machine = machine(States.toServing)
    #expect(
      actions(&machine, .applied(.slice), .groupServed(nil, isPaused: true), .applied(.slice)) == [
        .serveGroup(pausing: Self.items), .apply, .serveGroup(pausing: []),
      ]
    )
    #expect(
      actions(&machine, .groupServed(nil, isPaused: false), .applied(.everything), .resumed(.done)) == [
        .apply, .resumeInput(Self.items), .look,
      ]
    )
    #expect(machine.partitions.inputs(.serving) == Self.items)
  }

  @Test func `a flush within a batch does not resume its input`() {
    let pausing: [WorkerEvent] = [.schedule(isPollDue: true), .groupServed(nil, isPaused: true)]
    let commit = States.toConfirming.dropFirst(States.toWriting.count)
    var machine = machine(
      States.toServing + [.applied(.untilFlush), .done, States.called(.succeeded)] + pausing + commit
    )
    #expect(
      actions(&machine, .confirmed([]), .resumed(.postponed)) == [
        .resumeInput(Self.items), .apply,
      ]
    )
    #expect(machine.partitions.inputs(.paused) == Self.items)
  }

  @Test func `input that cannot be resumed is restored`() {
    var machine = machine(States.toPaused + [.applied(.everything)])
    #expect(
      actions(&machine, .resumed(.failed), .done) == [
        .restoreAgain(dropping: [0, 1], restoring: Self.items), .look,
      ]
    )
  }

  @Test func `input that comes twice is read again from where it is committed`() {
    var machine = machine(States.toWaiting)
    #expect(
      actions(
        &machine,
        .polled(nil, States.repeatedInput),
        .rolledBack(wasPending: false),
        .sought(isDone: true)
      ) == [.rollBack(repeated: States.partitions[0]), .rewind(States.starts), .apply]
    )
  }

  // MARK: Rebalances

  @Test func `only what leaves is given up, and what stays is read on`() {
    var machine = machine(States.toChecking)
    #expect(machine.partitions.state(of: 0) == .leaving)
    #expect(
      actions(&machine, .pending(false), .done, .done, .sought(isDone: true)) == [
        .giveUp([0], inputs: [Self.items[0]], isLost: false), .complete(States.revoking),
        .readOn([States.starts[1]]), .apply,
      ]
    )
    #expect(machine.partitions.inputs(.serving) == [Self.items[1]])
  }

  @Test func `what is pending of leaving partitions is published first, while those that stay are paused`() {
    var machine = machine(States.toChecking)
    #expect(
      actions(&machine, .pending(true), .done, States.called(.succeeded), .schedule(isPollDue: true)) == [
        .beginFlush, .call(.begin, until: Rebalance.leavingMilliseconds), .checkSchedule,
        .serveGroup(pausing: [Self.items[1]]),
      ]
    )
  }

  @Test func `what cannot be published of leaving partitions within the limit is discarded`() {
    var machine = machine(States.toLeaving + [.done, States.called(.succeeded), States.notDue])
    let limit = Rebalance.leavingMilliseconds
    let failed = States.called(.failed(KafkaErrors.retriable))
    #expect(actions(&machine, failed, .done, States.notDue, at: limit - 1).first == .wait(milliseconds: 10))
    #expect(
      actions(&machine, failed, States.notDue, at: limit) == [.checkSchedule, .call(.abort, until: limit)]
    )
    // The abort fails as well.
    #expect(
      actions(&machine, failed, .done, .done, .pending(false), at: limit) == [
        .lose(waitMilliseconds: 0), .restoreAgain(dropping: [0, 1], restoring: [Self.items[1]]),
        .checkPending(of: [0]), .giveUp([0], inputs: [Self.items[0]], isLost: false),
      ]
    )
  }

  @Test
  func `without a producer what is pending of leaving partitions is discarded, and the rest read again`() {
    var machine = machine(States.toChecking)
    machine.transactions = TransactionMachine()
    #expect(
      actions(&machine, .pending(true), .rolledBack(wasPending: true), .sought(isDone: true)) == [
        .rollBack(repeated: nil), .rewind(States.starts),
        .giveUp([0], inputs: [Self.items[0]], isLost: false),
      ]
    )
  }

  @Test(arguments: [States.toBegin, States.toWriting, States.toOffsets])
  func `when partitions are lost an open transaction is aborted`(way: [WorkerEvent]) {
    var machine = machine(way)
    let isBegun = way.count > States.toBegin.count
    _ = actions(&machine, States.called(.failed(KafkaErrors.retriable)), .done, .schedule(isPollDue: true))
    let next = actions(&machine, .groupServed(States.lost, isPaused: true))
    #expect(next == [isBegun ? .call(.abort, until: 0) : .lose(waitMilliseconds: 0)])
  }

  @Test func `when partitions are lost during a commit its outcome is unknown`() {
    var machine = machine(
      States.toCommitting + [
        States.called(.failed(KafkaErrors.retriable)), .done, .schedule(isPollDue: true),
      ]
    )
    #expect(
      actions(&machine, .groupServed(States.lost, isPaused: true), .done, .done) == [
        .lose(waitMilliseconds: 0), .restoreAgain(dropping: [0, 1], restoring: Self.items),
        .rollBack(repeated: nil),
      ]
    )
    #expect(
      actions(&machine, .rolledBack(wasPending: false), .done, .done, .sought(isDone: true)) == [
        .giveUp([0, 1], inputs: Self.items, isLost: true), .complete(States.lost), .readOn([]), .apply,
      ]
    )
    #expect(machine.partitions.isEmpty)
  }

  @Test func `partitions that are lost while they leave are not published`() {
    var machine = machine(States.toLeaving + [.done, States.called(.succeeded), .schedule(isPollDue: true)])
    #expect(actions(&machine, .groupServed(States.lost, isPaused: true)) == [.call(.abort, until: 0)])
    #expect(
      actions(&machine, States.called(.failed(KafkaErrors.fatal)), .done, .done) == [
        .lose(waitMilliseconds: 0), .restoreAgain(dropping: [0, 1], restoring: [Self.items[1]]),
        .rollBack(repeated: nil),
      ]
    )
  }

  @Test func `a member that was put out unnoticed joins with another consumer`() {
    var machine = machine(States.toWaiting)
    #expect(
      actions(&machine, States.polled(States.evicted), .rolledBack(wasPending: false), .done, .done) == [
        .rollBack(repeated: nil), .giveUp([0, 1], inputs: Self.items, isLost: true), .replaceConsumer, .apply,
      ]
    )
    #expect(machine.rebalance == nil)
  }

  @Test func `a rebalance between slices comes before the rest of the batch`() {
    var machine = machine(States.toServing)
    #expect(
      actions(&machine, .applied(.slice), .groupServed(States.revoking, isPaused: true)) == [
        .serveGroup(pausing: Self.items), .checkPending(of: [0]),
      ]
    )
  }

  @Test func `a rebalance comes before a step in restoring and before a call for a producer`() {
    var restoring = machine(States.toFirstSteps)
    #expect(actions(&restoring, States.polled(States.revoking)) == [.checkPending(of: [0])])
    var preparing = machine(States.toPreparing)
    #expect(actions(&preparing, States.polled(States.assigned)) == [.complete(States.assigned)])
  }

  @Test func `reading that cannot go on after a rebalance is restored`() {
    var machine = machine(States.toLeft + [.done, .done])
    #expect(
      actions(&machine, .sought(isDone: false), .done) == [
        .restoreAgain(dropping: [1], restoring: [Self.items[1]]), .apply,
      ]
    )
  }

  @Test func `a worker without a share joins once more, and only once`() {
    var machine = machine(States.toPolling)
    let nothing = Rebalance(.assigned, [])
    #expect(
      actions(&machine, States.polled(nothing), .done) == [.complete(nothing), .take([], isSettled: false)]
    )
    let time = WorkerMachine.rejoinMilliseconds
    _ = actions(&machine, .done, .sought(isDone: true), .applied(.everything))
    #expect(actions(&machine, States.idle, at: time - 1) == [.poll(timeoutMilliseconds: 100)])
    _ = actions(&machine, States.polled(nil), .applied(.everything))
    #expect(actions(&machine, States.idle, .done, States.idle, at: time).prefix(2) == [.rejoin, .look])
    #expect(
      actions(&machine, States.polled(nothing), .done, at: time) == [
        .complete(nothing), .take([], isSettled: true),
      ]
    )
    #expect(machine.rejoinTime == nil)
  }

  // MARK: The end

  @Test func `a stop publishes what is pending, and leaves`() {
    var machine = machine(States.toStopping)
    let flush = States.toConfirming.dropFirst(States.toFlush.count)
    for event in flush { _ = machine.handle(event, at: 0) }
    #expect(actions(&machine, .confirmed([]), .done) == [.close, .end])
  }

  @Test func `a stop ends what fails at its deadline`() {
    var machine = machine(States.toStopping + [.done, States.called(.succeeded), States.notDue])
    let failed = WorkerEvent.called(.failed(KafkaErrors.retriable), stopDeadline: 500)
    #expect(actions(&machine, failed, .done, States.notDue, at: 499).first == .wait(milliseconds: 10))
    #expect(
      actions(&machine, failed, States.notDue, at: 500) == [.checkSchedule, .call(.abort, until: .max)]
    )
    #expect(actions(&machine, failed, .done, .done, at: 501).last == .close)
  }

  @Test func `what needs somebody ends the worker once the transaction is aborted`() {
    var machine = machine(States.toWriting)
    #expect(
      actions(
        &machine,
        States.called(.refused(KafkaErrors.permanent)),
        States.notDue,
        States.called(.succeeded)
      )
        == [
          .checkSchedule, .call(.abort, until: .max), .fail(KafkaErrors.permanent),
        ]
    )
    #expect(machine.state == .ended)
  }
}
