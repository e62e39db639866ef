import FeedStore
import Service

/// What the workers of a daemon share.
struct WorkerEnvironment: Sendable {
  /// What the workers make their clients with, and look at the time by.
  let clients: any WorkerClients
  let stop: StopRequest
  let log: Log
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

  /// The same with fields in every line of its log.
  func logging(_ fields: LogFields) -> WorkerEnvironment {
    WorkerEnvironment(
      clients: clients,
      stop: stop,
      log: log.with(fields),
      rejectedLimit: rejectedLimit,
      stateBudget: stateBudget,
      crash: crash,
      status: status,
      backlog: backlog,
      coarseClock: coarseClock,
      onEvent: onEvent
    )
  }
}
