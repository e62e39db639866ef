package import Kafka
import Service

/// The life of a transactional producer and its transactions: returns the next call to make, and takes its result.
///
/// A plain value: its owner makes the calls, so every transition can be tested without Kafka.
///
///     unregistered ── register ──▸ idle ── begin ──▸ writing ── write… ──▸ addingOffsets ──▸ committing ──▸ idle
///         ▴                                             │                        │                │
///         │                                             ╰────── abortable ───────┴──▸ aborting ──▸ replacing
///         ╰── replace ◂── broken ◂───────────── fatal, or an outcome that is not known ───────────╯
///
/// After an abort another producer is registered as well: librdkafka 2.0.2 may give the next transaction's records
/// the sequence numbers of records that were on their way when it aborted, and brokers then take them for
/// duplicates; and requests of an aborted transaction that arrive late must find its epoch over. For the latter reason
/// a producer that lost a connection during a committed transaction is replaced before the next one begins.
package struct TransactionMachine: Equatable {
  package enum State: Equatable {
    /// Kafka does not know the producer yet; registering it ends what an earlier one of its id left open.
    case unregistered
    /// No transaction is open.
    case idle
    /// A transaction is wanted.
    case beginning
    /// Records are queued.
    case writing
    /// Everything is queued, and the offsets are to go with it.
    case addingOffsets
    /// The end of the transaction was asked for: it may have happened already.
    case committing
    /// The transaction is to be withdrawn. With an error, operator action is required afterwards.
    case aborting(KafkaError?)
    /// The producer is to be replaced, after a transaction was withdrawn or before one begins.
    case replacing(Occasion)
    /// Another producer is to be registered.
    case renewing(Occasion)
    /// The producer cannot be used any more.
    case broken
  }

  /// When a producer that works is replaced.
  package enum Occasion {
    case withdrawal, beginning
  }

  /// The call to be made next.
  package enum Step: String {
    case nothing, register, begin, write, addOffsets, commit, abort, replace
  }

  /// What the caller has to do now, apart from the next step.
  package enum Effect: Equatable {
    /// Nothing: go on with the next step.
    case proceed
    /// Wait for this long, then make the same call again.
    case retry(afterMilliseconds: Int32)
    /// Wait for this long, then go on with the next step.
    case pause(milliseconds: Int32)
    /// The transaction was committed: what it holds is published.
    case committed
    /// The transaction was withdrawn: take the store back to what is published, read the input again, and
    /// wait for this long before.
    case withdrawn(waitMilliseconds: Int32)
    /// What is published is not known: replace the producer after this long, and restore the store.
    case lost(waitMilliseconds: Int32)
    /// An operator has to act.
    case stop(KafkaError)
  }

  /// The result of the call.
  package enum Outcome: Equatable {
    case succeeded
    /// A part is queued.
    case wrote(endsTransaction: Bool, isLast: Bool)
    /// The transaction is committed, but requests of it may arrive once more, as the producer lost a connection.
    case committedDespiteDisconnect
    case failed(KafkaError)
    /// A record is refused, which requires an operator.
    case refused(KafkaError)

    /// Whether this can come of the call of a step.
    package func fits(_ step: Step) -> Bool {
      switch self {
      case .succeeded: step != .write
      case .wrote: step == .write
      case .committedDespiteDisconnect: step == .commit
      case .failed, .refused: true
      }
    }
  }

  package private(set) var state = State.unregistered
  /// Failures of the same call one after the other.
  package private(set) var failuresInARow = 0
  /// Transactions withdrawn, and producers replaced, since the last commit.
  package private(set) var withdrawnInARow = 0
  package private(set) var replacedInARow = 0
  /// Whether requests of the last transaction may still arrive, so that the next one needs another producer.
  private var needsAnother = false

  /// After this many in a row another producer is tried.
  package static let mostWithdrawnInARow = 20
  /// How long a full queue has time to empty.
  package static let queueMilliseconds: Int32 = 5
  /// How long brokers have to end an aborted transaction before the next producer is registered. While they are at it they
  /// refuse, and librdkafka logs a warning each time.
  package static let abortMilliseconds: Int32 = 50

  package var step: Step {
    switch state {
    case .unregistered: .register
    case .idle: .nothing
    case .beginning: .begin
    case .writing: .write
    case .addingOffsets: .addOffsets
    case .committing: .commit
    case .aborting: .abort
    case .replacing, .broken: .replace
    case .renewing: .register
    }
  }

  /// Whether a transaction is under way, or what follows one at once, which has to be brought to an end.
  package var isInTransaction: Bool {
    switch state {
    case .unregistered, .idle, .broken: false
    case .beginning, .writing, .addingOffsets, .committing, .aborting, .replacing, .renewing: true
    }
  }

  /// Whether a transaction can be begun.
  package var isReady: Bool { state == .idle }

  package init() {}

  // MARK: What is wanted

  /// A transaction is wanted.
  package mutating func begin() {
    precondition(state == .idle, "a transaction is begun in state \(state)")
    state = needsAnother ? .replacing(.beginning) : .beginning
  }

  /// Everything that belongs to the transaction is queued.
  package mutating func finishWriting() {
    precondition(state == .writing, "the writing ends in state \(state)")
    state = .addingOffsets
  }

  // MARK: Results of the call

  /// The call of `step` has ended.
  package mutating func take(_ outcome: Outcome) -> Effect {
    switch outcome {
    case .succeeded:
      return succeed()
    case .wrote(let endsTransaction, _):
      let effect = succeed()
      if endsTransaction { finishWriting() }
      return effect
    case .committedDespiteDisconnect:
      return succeed(hasLostConnection: true)
    case .failed(let error):
      return fail(error)
    case .refused(let error):
      return refuse(error)
    }
  }

  /// The call of `step` has succeeded.
  ///
  /// - Parameter hasLostConnection: for a commit, whether the producer lost a connection during the transaction.
  package mutating func succeed(hasLostConnection: Bool = false) -> Effect {
    failuresInARow = 0
    switch state {
    case .unregistered:
      state = .idle
    case .beginning:
      state = .writing
    case .writing:
      break
    case .addingOffsets:
      state = .committing
    case .committing:
      state = .idle
      withdrawnInARow = 0
      replacedInARow = 0
      needsAnother = hasLostConnection
      return .committed
    case .aborting(let error?):
      state = .idle
      return .stop(error)
    case .aborting(nil):
      state = .replacing(.withdrawal)
    case .replacing(let occasion):
      state = .renewing(occasion)
      needsAnother = false
      if occasion == .withdrawal { return .pause(milliseconds: Self.abortMilliseconds) }
    case .renewing(.withdrawal):
      return withdraw()
    case .renewing(.beginning):
      state = .beginning
    case .broken:
      replacedInARow += 1
      needsAnother = false
      state = .unregistered
    case .idle:
      preconditionFailure("no call was to be made")
    }
    return .proceed
  }

  /// The call of `step` has failed.
  package mutating func fail(_ error: KafkaError) -> Effect {
    // It empties while it is waited for; how often that is needed says nothing.
    if error.kind == .queueFull { return .retry(afterMilliseconds: Self.queueMilliseconds) }
    // It would fail in the same way for every producer.
    if error.kind.needsSomebody { return abort(error) }
    // The producer will not work again, or its transaction was ended by a late request, perhaps committed in part.
    if error.isFatal || error.kind == .invalidTransactionState { return lose() }
    if error.requiresAbort { return abort(nil) }
    guard error.isRetriable else {
      // Its meaning is not documented. A commit may have happened, so it must not be taken for aborted.
      return state == .committing ? lose() : abort(nil)
    }
    failuresInARow += 1
    return .retry(afterMilliseconds: Self.backoff(failuresInARow, from: 10, to: 500))
  }

  /// A record was refused, which requires an operator: the call of `step` has failed because of it, or an abort has shown it.
  package mutating func refuse(_ error: KafkaError) -> Effect { abort(error) }

  /// There is no time left: the transaction is to come to an end with the next calls.
  package mutating func giveUp() -> Effect {
    switch state {
    case .unregistered, .idle, .broken: .proceed
    case .beginning, .writing, .addingOffsets: abort(nil)
    // It may have been committed, or not; or there is no producer.
    case .committing, .aborting, .replacing, .renewing: lose()
    }
  }

  // MARK: -

  private mutating func abort(_ permanent: KafkaError?) -> Effect {
    failuresInARow = 0
    switch state {
    case .writing, .addingOffsets:
      state = .aborting(permanent)
      return .proceed
    case .committing where permanent?.requiresAbort != false:
      state = .aborting(permanent)
      return .proceed
    case .aborting(let earlier?):
      // Left to the next producer, or to its time.
      state = .broken
      return .stop(earlier)
    case .unregistered, .idle, .beginning, .committing, .aborting(nil), .replacing, .renewing, .broken:
      guard let permanent else { return lose() }
      state = .broken
      return .stop(permanent)
    }
  }

  private mutating func withdraw() -> Effect {
    withdrawnInARow += 1
    guard withdrawnInARow < Self.mostWithdrawnInARow else {
      withdrawnInARow = 0
      return lose()
    }
    state = .idle
    return .withdrawn(waitMilliseconds: Self.backoff(withdrawnInARow - 1, from: 20, to: 1_000))
  }

  private mutating func lose() -> Effect {
    failuresInARow = 0
    if case .aborting(let error?) = state {
      state = .broken
      return .stop(error)
    }
    state = .broken
    return .lost(waitMilliseconds: Self.backoff(replacedInARow, from: 250, to: 10_000))
  }

  /// 0 the first time, then twice as long each time.
  private static func backoff(_ times: Int, from least: Int32, to greatest: Int32) -> Int32 {
    times <= 0 ? 0 : ExponentialBackoff(from: least, to: greatest)[times - 1]
  }
}

extension KafkaErrorCode {
  /// Whether only a change of the configuration, of topics or of access rights can help.
  package var needsSomebody: Bool {
    switch self {
    case .messageTooLarge, .invalidRecord, .invalidTimestamp, .policyViolation, .unsupportedForMessageFormat,
      .invalidTransactionTimeout, .unsupportedFeature, .unsupportedVersion:
      true
    default: isRefusal
    }
  }

  /// Whether the brokers refuse access.
  package var isRefusal: Bool {
    switch self {
    case .topicAuthorizationFailed, .groupAuthorizationFailed, .transactionalIDAuthorizationFailed,
      .clusterAuthorizationFailed:
      true
    default: false
    }
  }
}
