import FeedTransactions
import Kafka

/// A worker's next action. The worker passes the named event, which is the result, to the machine.
enum WorkerAction: Equatable {
  // MARK: The group

  /// Wait for brokers, and check that the topics fit together: ``WorkerEvent/topicsChecked(isStopping:)``.
  case findTopics
  /// Join the group: ``WorkerEvent/done``.
  case join
  /// Leave the group and join it again: ``WorkerEvent/done``.
  case rejoin
  /// Replace the consumer, whose membership is unreliable, and join the group: ``WorkerEvent/done``.
  case replaceConsumer
  /// Leave the group and close the clients: ``WorkerEvent/done``.
  case close
  /// Nothing: the worker has ended.
  case end
  /// End with an error that requires an operator.
  case fail(KafkaError)

  // MARK: Input

  /// Apply a slice of the polled records: ``WorkerEvent/applied(_:)``.
  case apply
  /// Cover ends of partitions and do timed work: ``WorkerEvent/looked(ends:deadline:restoreTime:isStopping:)``.
  case look
  /// Poll for input, for at most this long: ``WorkerEvent/polled(_:_:)``.
  case poll(timeoutMilliseconds: Int32)
  /// Poll, and discard any input: ``WorkerEvent/polled(_:_:)``.
  case pollWithoutInput(timeoutMilliseconds: Int32)
  /// Check whether a poll of the group is due: ``WorkerEvent/schedule(isPollDue:)``.
  case checkSchedule
  /// Pause these inputs and poll the group without changing the batch: ``WorkerEvent/groupServed(_:isPaused:)``.
  case serveGroup(pausing: [TopicPartition])
  /// Resume these inputs unless the batch is unfinished, as librdkafka drops fetched records of paused ones:
  /// ``WorkerEvent/resumed(_:)``.
  case resumeInput([TopicPartition])
  /// Discard the polled records, and seek: ``WorkerEvent/sought(isDone:)``.
  case rewind([TopicPartitionOffset])

  // MARK: Restoring

  /// Take one step of ``Restoration``: ``WorkerEvent/restored(_:)``.
  case restore
  /// Discard pending changes and polled records, drop partitions' state, and begin to restore these inputs:
  /// ``WorkerEvent/done``.
  case restoreAgain(dropping: Set<Int32>, restoring: [TopicPartition])

  // MARK: Publishing

  /// Make the call of this step to prepare a producer: ``WorkerEvent/called(_:stopDeadline:)``.
  case prepareProducer(TransactionMachine.Step)
  /// Begin a flush: ``WorkerEvent/done``.
  case beginFlush
  /// Make the call of this transaction step, retrying until this time: ``WorkerEvent/called(_:stopDeadline:)``.
  case call(TransactionMachine.Step, until: Int64)
  /// Serve the producer for this long: ``WorkerEvent/done``.
  case wait(milliseconds: Int32)
  /// Confirm the committed records to the store, the whole flush or a part, with the flush's duration so far:
  /// ``WorkerEvent/confirmed(_:)``.
  case confirm(isWhole: Bool, milliseconds: Int64)
  /// End the flush and roll the store back, because the transaction was aborted: ``WorkerEvent/done``.
  case withdraw
  /// End the flush, because the outcome of the transaction is unknown: ``WorkerEvent/done``.
  case lose(waitMilliseconds: Int32)
  /// Roll the store back if changes are pending: ``WorkerEvent/rolledBack(wasPending:)``. If a partition is
  /// named, its records were received twice.
  case rollBack(repeated: TopicPartition?)

  // MARK: Rebalances

  /// Check whether changes of these partitions are pending: ``WorkerEvent/pending(_:)``.
  case checkPending(of: Set<Int32>)
  /// Complete the rebalance at the consumer: ``WorkerEvent/done``.
  case complete(Rebalance)
  /// Begin to restore assigned partitions: ``WorkerEvent/done``. Unless the share is settled, more may come.
  case take([TopicPartition], isSettled: Bool)
  /// Drop the state of partitions, which have these inputs, so that none of it is published: ``WorkerEvent/done``.
  case giveUp(Set<Int32>, inputs: [TopicPartition], isLost: Bool)
  /// Seek retained partitions to their next offsets: ``WorkerEvent/sought(isDone:)``.
  case readOn([TopicPartitionOffset])
}

/// The result of the machine's last action.
enum WorkerEvent: Equatable {
  /// The action is done, and has no other result.
  case done
  /// The topics fit together, or a stop was requested first.
  case topicsChecked(isStopping: Bool)
  case applied(Applied)
  /// The ends of inputs; when pending changes are due, if there are any; the time of the next step of the
  /// restoration, if partitions are being restored; and whether a stop was requested.
  case looked(ends: [TopicPartitionOffset], deadline: Int64?, restoreTime: Int64? = nil, isStopping: Bool)
  /// The group was polled. The poll returned this rebalance and this input.
  case polled(Rebalance?, [InputSpan])
  case schedule(isPollDue: Bool)
  /// A poll of the group has succeeded or failed. `isPaused`: whether the requested inputs are paused.
  case groupServed(Rebalance?, isPaused: Bool)
  case resumed(Resumption)
  case sought(isDone: Bool)
  /// Partitions are restored. Their input begins at these offsets.
  case restored([TopicPartitionOffset])
  /// A call was made. The deadline is the end of the time for stopping, if a stop was requested.
  case called(TransactionMachine.Outcome, stopDeadline: Int64?)
  /// The input up to these offsets is published.
  case confirmed([TopicPartitionOffset])
  case rolledBack(wasPending: Bool)
  case pending(Bool)

  enum Applied: Equatable {
    case everything
    /// The slice is over; records are left.
    case slice
    /// Pending changes have to be published first.
    case untilFlush
  }

  enum Resumption: Equatable {
    case done
    /// The batch is not fully applied yet.
    case postponed
    case failed
  }
}
