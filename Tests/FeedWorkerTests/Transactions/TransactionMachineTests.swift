import Testing

@testable import FeedTransactions
@testable import Kafka

struct TransactionMachineTests {
  private typealias State = TransactionMachine.State

  /// The calls of a transaction before its end was asked for.
  private static let open: [State] = [.beginning, .writing, .addingOffsets]
  /// Those in which a producer is made or registered, outside of transactions or after one.
  private static let withoutProducer: [State] =
    [
      .unregistered, .replacing(.withdrawal), .renewing(.withdrawal), .replacing(.beginning),
      .renewing(.beginning),
      .broken,
    ]
  /// All in which there is a call to make.
  private static let calling: [State] = open + [.committing, .aborting(nil)] + withoutProducer

  /// A machine on its shortest way to a state.
  private func machine(in state: State) -> TransactionMachine {
    var machine = TransactionMachine()
    if state == .unregistered { return machine }
    _ = machine.succeed()
    if state == .idle { return machine }
    machine.begin()
    if state == .beginning { return machine }
    _ = machine.succeed()
    switch state {
    case .aborting(let error?): _ = machine.fail(error)
    case .aborting(nil): _ = machine.fail(KafkaErrors.abortable)
    case .replacing(.withdrawal), .renewing(.withdrawal):
      _ = machine.fail(KafkaErrors.abortable)
      _ = machine.succeed()
      if state == .renewing(.withdrawal) { _ = machine.succeed() }
    case .replacing(.beginning), .renewing(.beginning):
      machine.finishWriting()
      _ = machine.succeed()
      _ = machine.succeed(hasLostConnection: true)
      machine.begin()
      if state == .renewing(.beginning) { _ = machine.succeed() }
    case .broken: _ = machine.fail(KafkaErrors.fatal)
    case .addingOffsets, .committing:
      machine.finishWriting()
      if state == .committing { _ = machine.succeed() }
    default: break
    }
    #expect(machine.state == state)
    return machine
  }

  // MARK: The way of a transaction

  @Test func `a transaction is begun, written, given offsets and committed, and then the next`() {
    var machine = TransactionMachine()
    var steps: [TransactionMachine.Step] = []
    func succeed() -> TransactionMachine.Effect {
      steps.append(machine.step)
      return machine.succeed()
    }
    #expect(!machine.isReady)
    #expect(succeed() == .proceed)
    for _ in 0..<2 {
      #expect(machine.isReady)
      #expect(!machine.isInTransaction)
      machine.begin()
      #expect(succeed() == .proceed)
      #expect(machine.isInTransaction)
      // As many parts as there are.
      #expect(succeed() == .proceed)
      #expect(succeed() == .proceed)
      machine.finishWriting()
      #expect(succeed() == .proceed)
      #expect(succeed() == .committed)
    }
    let transaction: [TransactionMachine.Step] = [.begin, .write, .write, .addOffsets, .commit]
    #expect(steps == [.register] + transaction + transaction)
    #expect(machine.step == .nothing)
  }

  @Test func `a transaction that is aborted is withdrawn, and the next is another producer's`() {
    var machine = machine(in: .writing)
    #expect(machine.fail(KafkaErrors.abortable) == .proceed)
    var steps: [TransactionMachine.Step] = []
    // Brokers get time to end the transaction before they are told of the next producer.
    for effect in [.proceed, .pause(milliseconds: 50)] as [TransactionMachine.Effect] {
      steps.append(machine.step)
      #expect(machine.succeed() == effect)
      #expect(machine.isInTransaction)
    }
    steps.append(machine.step)
    #expect(machine.succeed() == .withdrawn(waitMilliseconds: 0))
    #expect(steps == [.abort, .replace, .register])
    #expect(machine.isReady)
  }

  @Test func `a producer that lost a connection is replaced before the next transaction, and only then`() {
    var machine = machine(in: .committing)
    #expect(machine.succeed(hasLostConnection: true) == .committed)
    #expect(machine.isReady)
    #expect(machine.step == .nothing)
    machine.begin()
    var steps: [TransactionMachine.Step] = []
    for _ in 0..<3 {
      #expect(machine.isInTransaction)
      steps.append(machine.step)
      #expect(machine.succeed() == .proceed)
    }
    #expect(steps == [.replace, .register, .begin])
    machine.finishWriting()
    #expect(machine.succeed() == .proceed)
    #expect(machine.succeed() == .committed)
    machine.begin()
    #expect(machine.step == .begin)
  }

  @Test(arguments: [.writing, .addingOffsets, .committing, .aborting(nil)] as [State])
  private func `a transaction that a late request has ended may be committed in part`(state: State) {
    var machine = machine(in: state)
    #expect(
      machine.fail(KafkaErrors.error(.invalidTransactionState, requiresAbort: true))
        == .lost(waitMilliseconds: 0)
    )
    #expect(machine.state == .broken)
  }

  @Test func `a producer that is lost is replaced, and registered, before anything else`() {
    var machine = machine(in: .committing)
    #expect(machine.fail(KafkaErrors.fatal) == .lost(waitMilliseconds: 0))
    #expect(!machine.isInTransaction)
    #expect(!machine.isReady)
    #expect(machine.step == .replace)
    #expect(machine.succeed() == .proceed)
    #expect(machine.step == .register)
    #expect(machine.succeed() == .proceed)
    #expect(machine.isReady)
  }

  // MARK: Errors

  @Test(arguments: calling)
  func `what may succeed later is tried again, whatever the call, and more and more seldom`(
    state: TransactionMachine.State
  ) {
    var machine = machine(in: state)
    let step = machine.step
    var waits: [Int32] = []
    for _ in 0..<100 {
      guard case .retry(let wait) = machine.fail(KafkaErrors.retriable) else {
        Issue.record("it is not tried again")
        return
      }
      waits.append(wait)
      #expect(machine.step == step)
    }
    #expect(waits == waits.sorted())
    #expect(waits.first == 10)
    #expect(waits.last == 500)
  }

  @Test func `a full queue is waited for, as often as it takes`() {
    var machine = machine(in: .writing)
    for _ in 0..<1_000 {
      #expect(machine.fail(KafkaErrors.error(.queueFull, isRetriable: true)) == .retry(afterMilliseconds: 5))
    }
    #expect(machine.step == .write)
    #expect(machine.failuresInARow == 0)
  }

  @Test(arguments: [.writing, .addingOffsets, .committing] as [TransactionMachine.State])
  func `an error that requires an abort gets one`(state: TransactionMachine.State) {
    var machine = machine(in: state)
    #expect(machine.fail(KafkaErrors.abortable) == .proceed)
    #expect(machine.state == .aborting(nil))
  }

  @Test(arguments: calling)
  func `a fatal error costs the producer, whatever else it is`(state: TransactionMachine.State) {
    var machine = machine(in: state)
    let error = KafkaErrors.error(.fenced, isRetriable: true, isFatal: true, requiresAbort: true)
    #expect(machine.fail(error) == .lost(waitMilliseconds: 0))
    #expect(machine.state == .broken)
  }

  @Test func `an error that nobody explains is an abort, or the producer where that cannot be`() {
    let error = KafkaErrors.error(.state)
    for state in [.writing, .addingOffsets] as [State] {
      var machine = machine(in: state)
      #expect(machine.fail(error) == .proceed)
      #expect(machine.state == .aborting(nil))
    }
    for state in [.beginning, .aborting(nil)] + Self.withoutProducer {
      var machine = machine(in: state)
      #expect(machine.fail(error) == .lost(waitMilliseconds: 0))
      #expect(machine.state == .broken)
    }
  }

  @Test func `a commit whose outcome is not known is never taken for aborted`() {
    var machine = machine(in: .committing)
    #expect(machine.fail(KafkaErrors.error(.state)) == .lost(waitMilliseconds: 0))
    #expect(machine.state == .broken)
  }

  @Test(
    arguments: [
      .messageTooLarge, .topicAuthorizationFailed, .groupAuthorizationFailed,
      .transactionalIDAuthorizationFailed, .clusterAuthorizationFailed, .invalidTransactionTimeout,
      .unsupportedFeature, .unsupportedVersion, .invalidRecord, .invalidTimestamp, .policyViolation,
      .unsupportedForMessageFormat,
    ] as [KafkaErrorCode]
  )
  func `what would fail again in the same way is permanent, once nothing is left open`(
    kind: KafkaErrorCode
  ) {
    let error = KafkaErrors.error(kind, requiresAbort: true)
    for state in [.writing, .addingOffsets, .committing] as [State] {
      var machine = machine(in: state)
      #expect(machine.fail(error) == .proceed)
      #expect(machine.step == .abort)
      #expect(machine.succeed() == .stop(error))
      #expect(!machine.isInTransaction)
    }
    for state in [.beginning, .aborting(nil)] + Self.withoutProducer {
      var machine = machine(in: state)
      #expect(machine.fail(error) == .stop(error))
      #expect(!machine.isInTransaction)
    }
  }

  @Test func `a record that is refused is permanent, whatever the error says`() {
    let error = KafkaErrors.error(.recordListTooLarge, isRetriable: true)
    for state in [.writing, .addingOffsets] as [State] {
      var machine = machine(in: state)
      #expect(machine.refuse(error) == .proceed)
      #expect(machine.step == .abort)
      #expect(machine.succeed() == .stop(error))
    }
    for state in [.committing, .aborting(nil)] as [State] {
      var machine = machine(in: state)
      #expect(machine.refuse(error) == .stop(error))
      #expect(machine.state == .broken)
    }
    var machine = machine(in: .aborting(KafkaErrors.permanent))
    #expect(machine.refuse(error) == .stop(KafkaErrors.permanent))
  }

  @Test func `a commit that may not be made, and cannot be aborted, is left to the next producer`() {
    let error = KafkaErrors.error(.topicAuthorizationFailed)
    var machine = machine(in: .committing)
    #expect(machine.fail(error) == .stop(error))
    #expect(machine.state == .broken)
  }

  @Test func `an abort that fails on the way to somebody does not hide why`() {
    for failure in [KafkaErrors.fatal, KafkaErrors.abortable, KafkaErrors.error(.state)] {
      var machine = machine(in: .aborting(KafkaErrors.permanent))
      #expect(machine.fail(failure) == .stop(KafkaErrors.permanent))
      #expect(!machine.isInTransaction)
    }
    var machine = machine(in: .aborting(KafkaErrors.permanent))
    #expect(machine.fail(KafkaErrors.retriable) == .retry(afterMilliseconds: 10))
    #expect(machine.giveUp() == .stop(KafkaErrors.permanent))
  }

  // MARK: Time

  @Test func `out of time, a transaction is aborted unless its end was asked for`() {
    for state in [.writing, .addingOffsets] as [State] {
      var machine = machine(in: state)
      #expect(machine.giveUp() == .proceed)
      #expect(machine.state == .aborting(nil))
    }
    for state in [.beginning, .committing, .aborting(nil), .replacing(.withdrawal), .renewing(.withdrawal)]
      as [State]
    {
      var machine = machine(in: state)
      #expect(machine.giveUp() == .lost(waitMilliseconds: 0))
      #expect(machine.state == .broken)
    }
    for state in [.unregistered, .idle, .broken] as [State] {
      var machine = machine(in: state)
      #expect(machine.giveUp() == .proceed)
      #expect(machine.state == state)
    }
  }

  // MARK: Again and again

  @Test func `withdrawn again and again, it waits longer, and then tries another producer`() {
    var machine = machine(in: .idle)
    var waits: [Int32] = []
    while true {
      machine.begin()
      _ = machine.succeed()
      _ = machine.fail(KafkaErrors.abortable)
      _ = machine.succeed()
      _ = machine.succeed()
      let effect = machine.succeed()
      guard case .withdrawn(let wait) = effect else {
        #expect(effect == .lost(waitMilliseconds: 0))
        break
      }
      waits.append(wait)
      if waits.count > 100 { break }
    }
    #expect(waits.count == TransactionMachine.mostWithdrawnInARow - 1)
    #expect(waits.first == 0)
    #expect(waits == waits.sorted())
    #expect(waits.last == 1_000)
  }

  @Test func `replaced again and again, it waits longer, and a commit ends that`() {
    var machine = machine(in: .writing)
    var waits: [Int32] = []
    for _ in 0..<12 {
      guard case .lost(let wait) = machine.fail(KafkaErrors.fatal) else {
        Issue.record("the producer is not lost")
        return
      }
      waits.append(wait)
      _ = machine.succeed()
      _ = machine.succeed()
      machine.begin()
      _ = machine.succeed()
    }
    #expect(waits.first == 0)
    #expect(waits == waits.sorted())
    #expect(waits.last == 10_000)
    machine.finishWriting()
    _ = machine.succeed()
    #expect(machine.succeed() == .committed)
    #expect(machine.replacedInARow == 0)
    machine.begin()
    #expect(machine.fail(KafkaErrors.fatal) == .lost(waitMilliseconds: 0))
  }
}
