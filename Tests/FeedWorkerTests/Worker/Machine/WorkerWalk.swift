import Oracle

@testable import FeedTransactions
@testable import FeedWorker
@testable import Kafka

/// A machine in surroundings where anything may happen at any time: the group, the store, the producer and the input as far
/// as the machine's promises are about them.
///
/// It does what the machine says, at random well or badly, and looks with each action whether a promise is broken.
struct WorkerWalk {
  private(set) var machine = WorkerMachine()
  private(set) var action = WorkerMachine.firstAction
  /// The first broken promise.
  private(set) var fault: String?
  private(set) var hasEnded = false
  /// What was asked for, when, and what came of it; nil of the last.
  private(set) var history: [(time: Int64, action: WorkerAction, event: WorkerEvent?)] = []
  /// From here on everything goes well, and nothing happens.
  var isCalm = false

  private var random: SplitMix64
  private var now: Int64 = 0
  private var isStopping = false

  /// What the group believes the worker to have.
  private(set) var held: Set<Int32> = []
  /// The rebalance that was brought and is not completed.
  private var outstanding: Rebalance?

  /// Partitions whose feeds are in the store, and those whose feeds cannot be restored.
  private var restored: Set<Int32> = []
  private var stopped: Set<Int32> = []
  private var restoreTime: Int64 = 0
  /// Partitions whose feeds are being restored.
  var restoring: Set<Int32> { numbers(.assigned).subtracting(stopped) }
  /// Partitions with changes that are not published.
  private(set) var pending: Set<Int32> = []
  private var isFlushing = false
  /// Whether the input has to be read again, or all feeds restored, before more input is applied.
  private var hasToRewind = false
  private var hasToRestore = false
  /// Partitions of which polled records are not applied.
  private var batch: Set<Int32> = []

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  mutating func step() {
    history.append((now, action, nil))
    let event = perform(action)
    history[history.count - 1].event = event
    now += isCalm ? 1 : Int64.random(in: 0...300, using: &random)
    if hasEnded || fault != nil { return }
    guard let next = machine.transition(event, at: now) else {
      fault = "\(event) is refused in \(machine.state)"
      return
    }
    action = next
  }

  private mutating func expect(_ isKept: Bool, _ promise: String) {
    if !isKept, fault == nil { fault = "\(promise), with \(action) in \(machine.state)" }
  }

  private mutating func happens(_ percent: Int) -> Bool {
    !isCalm && Int.random(in: 0..<100, using: &random) < percent
  }

  private mutating func some(of partitions: Set<Int32>) -> Set<Int32> {
    Set(partitions.sorted().filter { _ in Bool.random(using: &random) })
  }

  private func inputs(_ partitions: Set<Int32>) -> [TopicPartition] {
    partitions.sorted().map { TopicPartition(topic: "items", partition: $0) }
  }

  private func numbers(_ state: PartitionState) -> Set<Int32> {
    Set(machine.partitions.inputs(state).map(\.partition))
  }

  // MARK: The group

  private mutating func rebalance(_ percent: Int) -> Rebalance? {
    guard happens(percent) else { return nil }
    if outstanding != nil {
      // Of what leaves, the rest of the session may be over as well.
      guard outstanding?.kind == .revoking, happens(20) else { return nil }
      return bring(Rebalance(.lost, inputs(held)))
    }
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5:
      let free: Set<Int32> = happens(30) ? [] : Set(0..<5).subtracting(held)
      return bring(Rebalance(.assigned, inputs(some(of: free))))
    case 5..<8: return bring(Rebalance(.revoking, inputs(some(of: held))))
    case 8: return bring(Rebalance(.lost, inputs(held)))
    default: return bring(Rebalance(.lost, inputs(held), needsNewConsumer: true))
    }
  }

  private mutating func bring(_ rebalance: Rebalance) -> Rebalance {
    outstanding = rebalance
    return rebalance
  }

  // MARK: Actions

  private mutating func perform(_ action: WorkerAction) -> WorkerEvent {
    expect(
      numbers(.serving).union(numbers(.paused)).isSubset(of: restored),
      "only what is restored is served"
    )
    expect(machine.rebalance == outstanding, "a rebalance is noted until it is completed")
    switch action {
    case .findTopics: return .topicsChecked(isStopping: false)
    case .join: break
    case .rejoin: expect(held.isEmpty, "who has partitions does not join again")
    case .end, .fail, .close:
      expect(!isFlushing || action != .close, "the worker does not leave in the middle of a flush")
      hasEnded = true

    case .apply: return .applied(apply())
    case .look:
      expect(batch.isEmpty, "everything is applied before the next step is chosen")
      expect(numbers(.paused).isEmpty, "input comes again before the next step is chosen")
      if happens(1) { isStopping = true }
      let deadline = isCalm ? now : now + Int64.random(in: -100...100, using: &random)
      return .looked(
        ends: [],
        deadline: pending.isEmpty ? nil : deadline,
        restoreTime: restoring.isEmpty ? nil : restoreTime,
        isStopping: isStopping
      )
    case .poll(let timeout):
      if isCalm { now += Int64(timeout) }
      expect(machine.transactions.isReady, "without a producer no input is taken")
      return poll()
    case .pollWithoutInput(let timeout):
      if isCalm { now += Int64(timeout) }
      return .polled(rebalance(10), [])
    case .checkSchedule: return .schedule(isPollDue: happens(30))
    case .serveGroup(let pausing):
      let isPaused = !pausing.isEmpty && !happens(5)
      expect(Set(pausing.map(\.partition)).isSubset(of: numbers(.serving)), "what is paused was served")
      return .groupServed(isPaused || pausing.isEmpty ? rebalance(15) : nil, isPaused: isPaused)
    case .resumeInput(let inputs):
      expect(!inputs.isEmpty, "something is resumed")
      expect(Set(inputs.map(\.partition)) == numbers(.paused), "what is resumed was paused")
      return .resumed(batch.isEmpty ? happens(5) ? .failed : .done : .postponed)
    case .rewind(let positions): return rewind(positions)

    case .restore: return .restored(restore())
    case .restoreAgain(let dropped, let restoring):
      expect(pending.isSubset(of: dropped), "what is not known to be published is dropped")
      expect(Set(restoring.map(\.partition)).isDisjoint(with: leaving), "what leaves is not restored")
      restored.subtract(dropped)
      stopped.subtract(dropped)
      restoreTime = 0
      (pending, batch, hasToRewind, hasToRestore) = ([], [], false, false)

    case .prepareProducer:
      if happens(20) { return called(.failed(failure(canRefuse: false))) }
      return called(.succeeded)
    case .beginFlush:
      expect(!pending.isEmpty, "there is something to be published")
      expect(outstanding?.kind != .lost, "no flush begins when partitions are lost")
      isFlushing = true
    case .call(let step, _): return called(call(step))
    case .wait(let milliseconds):
      // The wait between an abort and the registration of the next producer is no repetition.
      if case .flushing(_, .waiting) = machine.state, machine.transactions.failuresInARow > 0 {
        expect(now < machine.publishingLimit, "what fails is not repeated when the time for it is over")
      }
      now += Int64(milliseconds)
    case .confirm(let isWhole, _):
      if isWhole { (pending, isFlushing) = ([], false) }
      return .confirmed([])
    case .withdraw:
      (pending, isFlushing, hasToRewind) = ([], false, true)
    case .lose: (isFlushing, hasToRestore) = (false, true)
    case .rollBack(let repeated):
      let wasPending = !pending.isEmpty
      pending = []
      if wasPending || repeated != nil { hasToRewind = true }
      return .rolledBack(wasPending: wasPending)

    case .checkPending(let partitions): return .pending(!pending.isDisjoint(with: partitions))
    case .complete(let rebalance): complete(rebalance)
    case .take(let partitions, _):
      expect(restored.isDisjoint(with: partitions.map(\.partition)), "what comes is not restored yet")
      restoreTime = 0
    case .giveUp(let partitions, _, _):
      expect(!isFlushing, "nothing is given up in the middle of a flush")
      expect(pending.isDisjoint(with: partitions), "nothing is pending of what is given up")
      restored.subtract(partitions)
      stopped.subtract(partitions)
      batch.subtract(partitions)
      held.subtract(partitions)
    case .replaceConsumer:
      expect(held.isEmpty, "everything is given up before the consumer is replaced")
      outstanding = nil
    case .readOn(let positions):
      expect(Set(positions.map(\.partition)).isSubset(of: held), "only what stays is read on")
      return .sought(isDone: !happens(10))
    }
    return .done
  }

  private var leaving: Set<Int32> {
    outstanding?.kind == .revoking ? numbers(.leaving) : []
  }

  private func called(_ outcome: TransactionMachine.Outcome) -> WorkerEvent {
    .called(outcome, stopDeadline: nil)
  }

  private mutating func apply() -> WorkerEvent.Applied {
    expect(outstanding == nil, "a rebalance is dealt with before more input is applied")
    expect(!hasToRewind && !hasToRestore, "the input is read again before more of it is applied")
    expect(!isFlushing, "no input is applied in the middle of a flush")
    expect(
      batch.isSubset(of: numbers(.serving).union(numbers(.paused))),
      "only input of what is served is applied"
    )
    guard let partition = batch.min() else { return .everything }
    pending.insert(partition)
    if happens(20) { return .untilFlush }
    batch.remove(partition)
    return batch.isEmpty ? .everything : .slice
  }

  private mutating func poll() -> WorkerEvent {
    let taken = isCalm ? [] : some(of: numbers(.serving))
    batch = taken
    let isRepeated = !taken.isEmpty && happens(2)
    if isRepeated { hasToRewind = true }
    let spans = inputs(taken).map { partition in
      let offset = (machine.positions.read[partition] ?? 0) - (isRepeated ? 1 : 0)
      return InputSpan(partition: partition, first: offset, last: offset)
    }
    return .polled(rebalance(10), spans)
  }

  private mutating func rewind(_ positions: [TopicPartitionOffset]) -> WorkerEvent {
    expect(
      Set(positions.map(\.partition)).isSubset(of: machine.partitions.numbers),
      "only what is ours is sought"
    )
    batch = []
    if happens(10) {
      hasToRestore = true
      return .sought(isDone: false)
    }
    hasToRewind = false
    return .sought(isDone: true)
  }

  private mutating func restore() -> [TopicPartitionOffset] {
    let restoring = restoring
    expect(!restoring.isEmpty, "there is something to be restored")
    expect(machine.transactions.isReady, "nothing is restored before an open transaction is over")
    expect(outstanding == nil, "a rebalance comes before restoring")
    if happens(20) {
      restoreTime = now + 100
      return []
    }
    let done = isCalm ? restoring : some(of: restoring)
    if happens(5) {
      stopped.formUnion(done)
      return []
    }
    restored.formUnion(done)
    return inputs(done).map { TopicPartitionOffset($0, offset: 0) }
  }

  private mutating func call(_ step: TransactionMachine.Step) -> TransactionMachine.Outcome {
    switch step {
    case .begin, .write, .addOffsets, .commit:
      expect(isFlushing, "there is a flush")
      expect(outstanding?.kind != .lost, "nothing is published when partitions are lost")
      expect(pending.isSubset(of: held), "nothing is published of what was given up")
    case .abort, .replace, .register: break
    case .nothing: expect(false, "there is a call to make")
    }
    now += isCalm ? 0 : Int64.random(in: 0...1_500, using: &random)
    if happens(15) { return .failed(failure()) }
    switch step {
    case .write:
      let isLast = isCalm || Bool.random(using: &random)
      return .wrote(endsTransaction: isLast || happens(30), isLast: isLast)
    case .commit where happens(30): return .committedDespiteDisconnect
    case .begin, .addOffsets, .commit, .abort, .replace, .register, .nothing: return .succeeded
    }
  }

  private mutating func failure(canRefuse: Bool = true) -> KafkaError {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<55: KafkaErrors.retriable
    case 55..<80: KafkaErrors.abortable
    case 80..<99: KafkaErrors.fatal
    default: canRefuse ? KafkaErrors.permanent : KafkaErrors.retriable
    }
  }

  private mutating func complete(_ rebalance: Rebalance) {
    expect(rebalance == outstanding, "the rebalance that was brought last is completed")
    outstanding = nil
    let partitions = Set(rebalance.partitions.map(\.partition))
    switch rebalance.kind {
    case .assigned: held.formUnion(partitions)
    case .revoking, .lost:
      expect(held.isDisjoint(with: partitions), "what goes is given up before the group is told")
      expect(machine.partitions.numbers.isDisjoint(with: partitions), "what goes is forgotten")
    }
  }
}
