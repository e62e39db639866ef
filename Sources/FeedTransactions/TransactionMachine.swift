package import Kafka
import OperatingSystem

/// The states of a transactional producer and its transactions. Returns the next call, and takes its result.
///
/// A plain value: its owner makes the calls, so every transition can be tested without Kafka.
///
///     unregistered ── register ──▸ idle ── begin ──▸ writing ── write… ──▸ addingOffsets ──▸ committing ──▸ idle
///         ▴                                             │                        │                │
///         │                                             ╰────── abortable ───────┴──▸ aborting ──▸ replacing
///         ╰── replace ◂── broken ◂───────────── fatal, or an unknown outcome ─────────────────────╯
///
/// A new producer also follows an abort: librdkafka 2.0.2 may give the next transaction's records the sequence
/// numbers of records that were in flight during the abort, and brokers would drop them as duplicates; and
/// late requests of an aborted transaction must arrive after its epoch has ended. For the latter reason, a producer
/// that lost a connection during a committed transaction is replaced before the next one begins.
package struct TransactionMachine: Equatable {
  package enum State: Equatable {
    /// Not registered with Kafka. Registering ends the open transaction of an earlier producer with its id.
    case unregistered
    /// No transaction is open.
    case idle
    /// A transaction is requested.
    case beginning
    /// Records are queued.
    case writing
    /// All records are queued, and the offsets are being added.
    case addingOffsets
    /// The commit was requested, and may have happened already.
    case committing
    /// The transaction is being aborted. With an error, operator action is required afterwards.
    case aborting(KafkaError?)
    /// The producer is to be replaced, after an abort or before a transaction begins.
    case replacing(Occasion)
    /// The new producer is to be registered.
    case renewing(Occasion)
    /// The producer is unusable.
    case broken
  }

  /// When a usable producer is replaced.
  package enum Occasion {
    case withdrawal, beginning
  }

  /// The next call to make.
  package enum Step: String {
    case nothing, register, begin, write, addOffsets, commit, abort, replace
  }

  /// The caller's task before it makes the call of the next step.
  package enum Effect: Equatable {
    /// Nothing: continue with the next step.
    case proceed
    /// Wait for this long, then make the same call again.
    case retry(afterMilliseconds: Int32)
    /// Wait for this long, then continue with the next step.
    case pause(milliseconds: Int32)
    /// The transaction was committed, so its records are published.
    case committed
    /// The transaction was aborted: roll the store back to the published state, seek the input back to it,
    /// and wait for this long.
    case withdrawn(waitMilliseconds: Int32)
    /// The outcome is unknown: replace the producer after this long, and restore the store.
    case lost(waitMilliseconds: Int32)
    /// An operator has to act.
    case stop(KafkaError)
  }

  /// The result of the call.
  package enum Outcome: Equatable {
    case succeeded
    /// A part is queued.
    case wrote(endsTransaction: Bool, isLast: Bool)
    /// The transaction is committed, but its requests may arrive again, because the producer lost a connection.
    case committedDespiteDisconnect
    case failed(KafkaError)
    /// A record is refused, which requires an operator.
    case refused(KafkaError)

    /// Whether the call of a step can have this outcome.
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
  /// The number of consecutive failures of the same call.
  package private(set) var failuresInARow = 0
  /// The numbers of aborted transactions, and of replaced producers, since the last commit.
  package private(set) var withdrawnInARow = 0
  package private(set) var replacedInARow = 0
  /// Whether requests of the last transaction may still arrive, so that the next one needs a new producer.
  private var needsAnother = false

  /// After this many consecutive aborts, the producer counts as broken.
  package static let mostWithdrawnInARow = 20
  /// The time for a full queue to empty.
  package static let queueMilliseconds: Int32 = 5
  /// The time for brokers to end an aborted transaction before the next producer is registered. Until then
  /// they refuse it, and librdkafka logs a warning each time.
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

  /// Whether a transaction, or the replacement of its producer, is in progress and has to be completed.
  package var isInTransaction: Bool {
    switch state {
    case .unregistered, .idle, .broken: false
    case .beginning, .writing, .addingOffsets, .committing, .aborting, .replacing, .renewing: true
    }
  }

  /// Whether a transaction can be begun.
  package var isReady: Bool { state == .idle }

  package init() {}

  // MARK: Requests

  /// Requests a transaction.
  package mutating func begin() {
    precondition(state == .idle, "a transaction is begun in state \(state)")
    state = needsAnother ? .replacing(.beginning) : .beginning
  }

  /// Ends the writing: all records of the transaction are queued.
  package mutating func finishWriting() {
    precondition(state == .writing, "the writing ends in state \(state)")
    state = .addingOffsets
  }

  // MARK: Results of the call

  /// Handles the result of the call of `step`.
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

  /// Handles the success of the call of `step`.
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

  /// Handles the failure of the call of `step`.
  package mutating func fail(_ error: KafkaError) -> Effect {
    // The queue empties during the wait; the number of waits is not a sign of failure.
    if error.kind == .queueFull { return .retry(afterMilliseconds: Self.queueMilliseconds) }
    // Every producer would fail in the same way.
    if error.kind.needsSomebody { return abort(error) }
    // The producer is unusable, or a late request has ended its transaction, perhaps after a partial commit.
    if error.isFatal || error.kind == .invalidTransactionState { return lose() }
    if error.requiresAbort { return abort(nil) }
    guard error.isRetriable else {
      // Its meaning is not documented. A commit may have happened, so it must not count as aborted.
      return state == .committing ? lose() : abort(nil)
    }
    failuresInARow += 1
    return .retry(afterMilliseconds: Self.backoff(failuresInARow, from: 10, to: 500))
  }

  /// Handles a refused record, which requires an operator: the call of `step` failed because of it, or an abort revealed it.
  package mutating func refuse(_ error: KafkaError) -> Effect { abort(error) }

  /// Ends the transaction with the next calls, because no time is left.
  package mutating func giveUp() -> Effect {
    switch state {
    case .unregistered, .idle, .broken: .proceed
    case .beginning, .writing, .addingOffsets: abort(nil)
    // The outcome is unknown, or there is no producer.
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
      // The next producer or the transaction's timeout ends it.
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

  /// 0 the first time, and doubles each time after that.
  private static func backoff(_ times: Int, from least: Int32, to greatest: Int32) -> Int32 {
    times <= 0 ? 0 : ExponentialBackoff(from: least, to: greatest)[times - 1]
  }
}

extension Rebalance {
  /// How long a member may keep revoked partitions, while the group waits for all its members.
  package static let leavingMilliseconds: Int64 = 10_000

  /// When to stop retrying the calls of a transaction that the rebalance waits for.
  ///
  /// - Parameter time: the time of the poll that returned the rebalance.
  package func retryLimit(since time: Int64) -> Int64 {
    switch kind {
    case .assigned: .max
    case .revoking: time + Self.leavingMilliseconds
    // Another member may own the partitions already, so that brokers refuse the transaction.
    case .lost: time
    }
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
