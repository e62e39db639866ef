import FeedTransactions

/// The state of a worker: the action whose result it awaits, with the data that is needed only until then.
enum WorkerState: Equatable {
  /// Waits for brokers and topics.
  case starting
  /// Joins the group.
  case joining
  /// Applies a slice of the polled records.
  case applying
  /// Polls the group between two slices.
  case betweenSlices
  /// Resumes paused input.
  case resuming(Continuation)
  /// Does timed work before it chooses the next step.
  case looking
  /// Joins the group again.
  case rejoining
  /// Waits for input. Then it may take a step of the restoration.
  case polling(restores: Bool)
  /// Creates and registers a producer.
  case preparing(ProducerStage)
  /// Takes a step of the restoration.
  case restoring
  /// Publishes pending changes.
  case flushing(Flush, FlushStage)
  /// Reports that the outcome of a transaction is unknown.
  case losing(Continuation)
  /// Discards pending changes. Then it reads the input again, always or only if there were any.
  case rollingBack(Continuation, rewindsAlways: Bool)
  /// Seeks to the committed offsets.
  case rewinding(Continuation)
  /// Begins to restore partitions again.
  case restoringAgain(Continuation)
  /// Handles a rebalance.
  case rebalancing(RebalanceStage)
  /// Leaves the group.
  case closing
  /// Has ended.
  case ended

  enum ProducerStage: Equatable {
    /// Polls the group first.
    case polling
    /// Makes the call of ``TransactionMachine/step``.
    case calling
  }

  /// A flush, from its first transaction to its last.
  struct Flush: Equatable {
    /// When it began, in milliseconds of the monotonic clock.
    let start: Int64
    let next: Continuation
    /// Whether the last written part is the flush's last.
    var isLastPart = false
    /// Whether it has given up its transaction because partitions are lost.
    var hasGivenUp = false
  }

  enum FlushStage: Equatable {
    case beginning
    /// Makes the call of ``TransactionMachine/step``.
    case calling
    /// Waits before it makes the same call again.
    case waiting
    /// Confirms a committed transaction to the store.
    case confirming
    /// Withdraws an aborted transaction from the store.
    case withdrawing(waitMilliseconds: Int32)
    /// Checks whether a poll of the group is due.
    case checkingSchedule
    /// Polls the group.
    case servingGroup
    /// Waits before it continues.
    case pausing
  }

  enum RebalanceStage: Equatable {
    /// Checks whether changes of leaving partitions are pending: before or after the attempt to publish them.
    case checking(isSecond: Bool)
    /// Drops the state of partitions.
    case givingUp
    /// The consumer reports the given-up partitions to the group.
    case completing
    /// The consumer reports the accepted partitions to the group.
    case accepting
    /// Begins to restore the assigned partitions.
    case taking
    /// Seeks the retained partitions to their next offsets.
    case readingOn
    /// Replaces the consumer.
    case replacing
  }

  /// The continuation after work that several states need.
  indirect enum Continuation: Equatable {
    case loop
    /// Chooses the next step.
    case look
    case restore
    /// Ends a flush whose transactions are over.
    case endFlush(Flush, waitMilliseconds: Int32)
    /// Checks whether changes of leaving partitions are still pending.
    case checkLeavingAgain
    /// Gives up the partitions of the rebalance.
    case giveUp
    case close
  }
}
