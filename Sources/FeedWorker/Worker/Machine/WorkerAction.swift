import FeedTransactions
import Kafka

/// What a worker has to do next. Its result is the event that is named, which goes to the machine.
enum WorkerAction: Equatable {
  // MARK: The group

  /// Wait for brokers, and check that the topics fit together: ``WorkerEvent/topicsChecked(isStopping:)``.
  case findTopics
  /// Join the group: ``WorkerEvent/done``.
  case join
  /// Leave the group and join it again: ``WorkerEvent/done``.
  case rejoin
  /// Replace the consumer, whose membership cannot be relied on, and join the group: ``WorkerEvent/done``.
  case replaceConsumer
  /// Leave the group and close the clients: ``WorkerEvent/done``.
  case close
  /// Nothing: the worker has ended.
  case end
  /// End with an error that requires an operator.
  case fail(KafkaError)
  /// Tell the operator: ``WorkerEvent/done``.
  case report(WorkerNotice)

  // MARK: Input

  /// Apply a slice of what was polled: ``WorkerEvent/applied(_:)``.
  case apply
  /// Cover ends of partitions and do what is due by time: ``WorkerEvent/looked(ends:deadline:restoreTime:isStopping:)``.
  case look
  /// Poll for input, for at most this long: ``WorkerEvent/polled(_:_:)``.
  case poll(timeoutMilliseconds: Int32)
  /// Poll, and discard what input comes: ``WorkerEvent/polled(_:_:)``.
  case pollWithoutInput(timeoutMilliseconds: Int32)
  /// Tell whether a poll of the group is due: ``WorkerEvent/schedule(isPollDue:)``.
  case checkSchedule
  /// Pause these inputs and poll the group while the batch stays as it is: ``WorkerEvent/groupServed(_:isPaused:)``.
  case serveGroup(pausing: [TopicPartition])
  /// Resume these inputs unless the batch is unfinished, as librdkafka drops what it has fetched of paused ones:
  /// ``WorkerEvent/resumed(_:)``.
  case resumeInput([TopicPartition])
  /// Discard what was polled, and seek: ``WorkerEvent/sought(isDone:)``.
  case rewind([TopicPartitionOffset])

  // MARK: Restoring

  /// Take one step of ``Restoration``: ``WorkerEvent/restored(_:)``.
  case restore
  /// Discard pending changes and what was polled, drop the state of all partitions, and begin to restore these:
  /// ``WorkerEvent/done``.
  case restoreAgain(dropping: Set<Int32>, restoring: [TopicPartition])

  // MARK: Publishing

  /// Make the call of this step towards a producer, outside of transactions: ``WorkerEvent/called(_:stopDeadline:)``.
  case prepareProducer(TransactionMachine.Step)
  /// Begin a flush: ``WorkerEvent/done``.
  case beginFlush
  /// Make the call of this step of a transaction, trying until this time: ``WorkerEvent/called(_:stopDeadline:)``.
  case call(TransactionMachine.Step, until: Int64)
  /// Serve the producer for this long: ``WorkerEvent/done``.
  case wait(milliseconds: Int32)
  /// Confirm what was committed to the store, the whole flush or a part, and how long the flush has taken:
  /// ``WorkerEvent/confirmed(_:)``.
  case confirm(isWhole: Bool, milliseconds: Int64)
  /// End the flush and roll the store back, as the transaction was aborted: ``WorkerEvent/done``.
  case withdraw
  /// End the flush, as the outcome of the transaction is not known: ``WorkerEvent/done``.
  case lose(waitMilliseconds: Int32)
  /// Roll the store back if something is pending: ``WorkerEvent/rolledBack(wasPending:)``. If a partition is named, records
  /// of it came that had come before.
  case rollBack(repeated: TopicPartition?)

  // MARK: Rebalances

  /// Tell whether anything of these partitions is pending: ``WorkerEvent/pending(_:)``.
  case checkPending(of: Set<Int32>)
  /// Tell the consumer that the rebalance is dealt with: ``WorkerEvent/done``.
  case complete(Rebalance)
  /// Begin to restore partitions that came: ``WorkerEvent/done``. If the share is not settled, more may come.
  case take([TopicPartition], isSettled: Bool)
  /// Drop the state of partitions, which have these inputs, so that nothing of them is published: ``WorkerEvent/done``.
  case giveUp(Set<Int32>, inputs: [TopicPartition], isLost: Bool)
  /// Seek partitions that stay to where they are read: ``WorkerEvent/sought(isDone:)``.
  case readOn([TopicPartitionOffset])
}

/// What has happened to a worker: the result of the action that its machine has returned last.
enum WorkerEvent: Equatable {
  /// The action is done, and there is nothing to tell of it.
  case done
  /// The topics fit together, or the end was asked for first.
  case topicsChecked(isStopping: Bool)
  case applied(Applied)
  /// Where inputs were found to end, when pending changes are due, if there are any, when the next step in restoring may be
  /// taken, if partitions are being restored, and whether the end was asked for.
  case looked(ends: [TopicPartitionOffset], deadline: Int64?, restoreTime: Int64? = nil, isStopping: Bool)
  /// The group was polled, and brought this input.
  case polled(Rebalance?, [InputSpan])
  case schedule(isPollDue: Bool)
  /// The group was polled, or could not be. `isPaused` tells whether the inputs are paused that were to be.
  case groupServed(Rebalance?, isPaused: Bool)
  case resumed(Resumption)
  case sought(isDone: Bool)
  /// Partitions are restored; their input begins at these offsets.
  case restored([TopicPartitionOffset])
  /// A call was made. The deadline is the end of the time for stopping, if that was asked for.
  case called(TransactionMachine.Outcome, stopDeadline: Int64?)
  /// The input up to these offsets is published.
  case confirmed([TopicPartitionOffset])
  case rolledBack(wasPending: Bool)
  case pending(Bool)

  enum Applied: Equatable {
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
}

/// What a worker reports because of a decision of its machine.
enum WorkerNotice: Equatable {
  /// The end was asked for.
  case stopping
  /// The producer cannot be registered yet.
  case waitingForCoordinator(KafkaError)
  /// The producer cannot be registered.
  case producerRefused(KafkaError)
  case revoking
  case lost
}
