import Service

/// What the workers of a daemon share.
struct WorkerEnvironment: Sendable {
  let stop: StopRequest
  let log: Log
  /// How large a rejected record may be.
  let rejectedLimit: RejectedRecordLimit
  /// Where the process is to end without warning, in tests.
  let crash: CrashInjection?
  /// Told what the workers have and have done.
  let status: DaemonStatus
  let onEvent: @Sendable (DaemonEvent) -> Void

  /// The same with fields in every line of its log.
  func logging(_ fields: LogFields) -> WorkerEnvironment {
    WorkerEnvironment(
      stop: stop,
      log: log.with(fields),
      rejectedLimit: rejectedLimit,
      crash: crash,
      status: status,
      onEvent: onEvent
    )
  }
}
