import Kafka

/// What has happened to a worker: the result of the action that its machine has returned last.
enum WorkerEvent: Equatable {
  /// The action is done, and there is nothing to tell of it.
  case done
  /// The topics fit together, or the end was asked for first.
  case topicsChecked(isStopping: Bool)
  case applied(Applied)
  /// When pending changes are due, if there are any, and whether the end was asked for.
  case looked(deadline: Int64?, isStopping: Bool)
  /// The group was polled. `isRepeated` tells that records came that had come before.
  case polled(Rebalance?, isRepeated: Bool)
  case schedule(isPollDue: Bool)
  /// The group was polled, or could not be. `isPaused` tells whether the inputs are paused that were to be.
  case groupServed(Rebalance?, isPaused: Bool)
  case resumed(Resumption)
  case sought(isDone: Bool)
  case restored(RestoreResult)
  /// A call was made. The deadline is the end of the time for stopping, if that was asked for.
  case called(Outcome, stopDeadline: Int64?)
  case confirmed(isStopping: Bool)
  case rolledBack(wasPending: Bool)
  case pending(Bool)

  enum Applied: Equatable {
    /// Everything that was polled.
    case everything
    /// The slice is over; more is left.
    case slice
    /// What is pending is to be published first.
    case untilFlush
  }

  enum Resumption: Equatable {
    case done
    /// The batch is not applied yet.
    case postponed
    case failed
  }

  /// What came of a call for a transaction or a producer.
  enum Outcome: Equatable {
    case succeeded
    /// A part is queued.
    case wrote(endsTransaction: Bool, isLast: Bool)
    /// There is another producer, whose transactions may take so long.
    case replaced(transactionMilliseconds: Int)
    case failed(KafkaError)
    /// A record is refused, which requires an operator.
    case refused(KafkaError)

    /// Whether this can come of the call of a step.
    func fits(_ step: TransactionMachine.Step) -> Bool {
      switch self {
      case .succeeded: step != .write && step != .replace
      case .wrote: step == .write
      case .replaced: step == .replace
      case .failed, .refused: true
      }
    }
  }

  /// What came of a step in restoring.
  struct RestoreResult: Equatable {
    /// Where the input begins of partitions that are restored.
    var starts: [TopicPartitionOffset] = []
    /// Partitions that cannot be restored.
    var stopped: Set<Int32> = []
    /// When the step may be repeated, if it has failed.
    var retryTime: Int64?
  }
}
