package import FeedKafka
package import FeedStore
package import Service

/// What the workers of a daemon share.
package struct WorkerEnvironment: Sendable {
  /// What the workers make their clients with, and look at the time by; the simulation has others.
  var clients: any WorkerClients = KafkaClients()
  /// Knows what restorations can continue from; nil if nothing does.
  package var standby: (any PartitionFollower)?
  let stop: StopRequest
  private(set) var log: Log
  /// How large a rejected record may be.
  let rejectedLimit: RejectedRecordLimit
  /// Counts the state of all workers.
  let stateBudget: StateBudget
  /// Where the process is to end without warning, in tests.
  let crash: CrashInjection?
  /// Told what the workers have and have done.
  let status: DaemonStatus
  /// Told what is read of the input, if producers are to wait for that.
  let backlog: InputBacklog?
  /// Milliseconds of the monotonic clock, looked at before every record; not exact.
  let coarseClock: @Sendable () -> Int64
  let onEvent: @Sendable (DaemonEvent) -> Void

  package init(
    stop: StopRequest,
    log: Log,
    rejectedLimit: RejectedRecordLimit,
    stateBudget: StateBudget,
    crash: CrashInjection?,
    status: DaemonStatus,
    backlog: InputBacklog?,
    coarseClock: @escaping @Sendable () -> Int64,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void
  ) {
    self.stop = stop
    self.log = log
    self.rejectedLimit = rejectedLimit
    self.stateBudget = stateBudget
    self.crash = crash
    self.status = status
    self.backlog = backlog
    self.coarseClock = coarseClock
    self.onEvent = onEvent
  }

  /// The same with fields in every line of its log.
  package func logging(_ fields: LogFields) -> WorkerEnvironment {
    var environment = self
    environment.log = log.with(fields)
    return environment
  }
}
