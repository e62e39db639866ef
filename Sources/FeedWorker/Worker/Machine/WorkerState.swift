import FeedStatus
import FeedTransactions
import Kafka

/// What a worker is doing: the action whose result it waits for, with what is known only meanwhile.
enum WorkerState: Equatable {
  /// Brokers and topics are looked for.
  case starting
  /// The group is being joined.
  case joining
  /// A slice of what was polled is applied.
  case applying
  /// The group is polled between two slices.
  case betweenSlices
  /// Paused input is resumed.
  case resuming(Continuation)
  /// What is due is looked at, before the next step is chosen.
  case looking
  /// The group is joined again.
  case rejoining
  /// Input is waited for; then perhaps a step in restoring is taken.
  case polling(restores: Bool)
  /// A producer is made and registered.
  case preparing(ProducerStage)
  /// A step in restoring is taken.
  case restoring
  /// Pending changes are published.
  case flushing(Flush, FlushStage)
  /// The outcome of a transaction is not known, which is reported.
  case losing(Continuation)
  /// The pending changes are discarded. Then the input is read again, in any case or if there were some.
  case rollingBack(Continuation, rewindsAlways: Bool)
  /// The consumer seeks to the committed offsets.
  case rewinding(Continuation)
  /// Partitions are about to be restored again.
  case restoringAgain(Continuation)
  /// A rebalance is dealt with.
  case rebalancing(RebalanceStage)
  /// The end was asked for. `isPending` tells whether there is anything to be published.
  case stopping(isPending: Bool)
  /// The group is left.
  case closing
  /// Nothing is done any more.
  case ended

  enum ProducerStage: Equatable {
    /// The group is polled first.
    case polling
    /// The call of ``TransactionMachine/step`` is made.
    case calling
    /// What the call has failed with is reported; then this is done about it.
    case reporting(TransactionMachine.Effect)
  }

  /// A flush, from its first transaction to its last.
  struct Flush: Equatable {
    /// When it was begun, in milliseconds of the monotonic clock.
    let start: Int64
    let next: Continuation
    /// Whether the part that was written last is the flush's last.
    var isLastPart = false
    /// Whether its transaction was given up because partitions are lost.
    var hasGivenUp = false
  }

  enum FlushStage: Equatable {
    case beginning
    /// The call of ``TransactionMachine/step`` is made.
    case calling
    /// Time passes before the same call is made again.
    case waiting
    /// A committed transaction is confirmed to the store.
    case confirming
    /// A transaction that was aborted is withdrawn from the store.
    case withdrawing(waitMilliseconds: Int32)
    /// Whether the group has to be polled is looked up.
    case checkingSchedule
    /// The group is polled.
    case servingGroup
    /// Time passes before anything else is tried.
    case pausing
  }

  enum RebalanceStage: Equatable {
    /// It is reported that partitions go.
    case reporting
    /// Whether anything of leaving partitions is pending is looked up: before or after the attempt to publish it.
    case checking(isSecond: Bool)
    /// The state of partitions is dropped.
    case givingUp
    /// The consumer reports to the group that they are given up.
    case completing
    /// The consumer reports to the group that partitions were taken.
    case accepting
    /// Partitions that came are about to be restored.
    case taking
    /// Those that stay are sought to where they are read.
    case readingOn
    /// The consumer is replaced by a new one.
    case replacing
  }

  /// What goes on after something that may be needed in several places.
  indirect enum Continuation: Equatable {
    case loop
    /// The choice of the next step.
    case look
    case restore
    /// The end of a flush whose transactions are over.
    case endFlush(Flush, waitMilliseconds: Int32)
    /// Whether anything of leaving partitions is still pending.
    case checkLeavingAgain
    /// Giving up the partitions of the rebalance.
    case giveUp
    /// The end.
    case close
  }
}
