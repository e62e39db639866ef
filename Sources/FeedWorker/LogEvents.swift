package import Diagnostics

/// The events of workers.
extension LogEvent {
  // The consumer group.
  package static let groupRejoining = LogEvent(.info, "group.rejoining")
  package static let groupProtocolMismatch = LogEvent(.error, "group.protocol-mismatch")
  package static let groupPollFailed = LogEvent(.warning, "group.poll-failed")

  // Feeds are restored from the changesets topic.
  package static let restoreProgress = LogEvent(.info, "restore.progress")
  package static let restoreWaiting = LogEvent(.warning, "restore.waiting")
  package static let restoreRetrying = LogEvent(.warning, "restore.retrying")
  package static let restoreStaleEnd = LogEvent(.warning, "restore.stale-end")
  package static let restoreTransactionEnded = LogEvent(.info, "restore.transaction-ended")
  package static let restoreTransactionLeftOpen = LogEvent(.warning, "restore.transaction-left-open")
  package static let restoreFinished = LogEvent(.info, "restore.finished")

  // A standby takes over.
  package static let standbyDiscarded = LogEvent(.warning, "standby.discarded")

  // A partition requires an operator.
  package static let partitionStopped = LogEvent(.error, "partition.stopped")
  package static let partitionStillStopped = LogEvent(.error, "partition.still-stopped")

  // Input is read.
  package static let contentsUnnamed = LogEvent(.warning, "contents.unnamed")
  package static let contentsSlow = LogEvent(.warning, "contents.slow")
  package static let inputFieldIgnored = LogEvent(.warning, "input.field-ignored")
  package static let inputRewindFailed = LogEvent(.warning, "input.rewind-failed")
  package static let inputResumeFailed = LogEvent(.warning, "input.resume-failed")

  // Changesets are published.
  package static let transactionWaitingForCoordinator = LogEvent(
    .warning,
    "transaction.waiting-for-coordinator"
  )
}
