package import Diagnostics

/// The events that workers and ingest share.
extension LogEvent {
  // The process starts.
  package static let startupWaitingForBrokers = LogEvent(
    .warning,
    "startup.waiting-for-brokers",
    isOfProcess: true
  )
  package static let startupTopicMismatch = LogEvent(.warning, "startup.topic-mismatch")
  package static let startupTopicsUnchecked = LogEvent(.debug, "startup.topics-unchecked")

  // The topics' partitions change while the process runs.
  package static let topicsPartitionsChanged = LogEvent(.error, "topics.partitions-changed", isCounted: false)

  // The consumer group.
  package static let groupJoining = LogEvent(.info, "group.joining")
  package static let groupAssigned = LogEvent(.info, "group.assigned")
  package static let groupRevoked = LogEvent(.info, "group.revoked")
  package static let groupLost = LogEvent(.info, "group.lost")
  package static let groupEvicted = LogEvent(.warning, "group.evicted")
  package static let groupLeaveFailed = LogEvent(.warning, "group.leave-failed")

  // Input is read.
  package static let inputNoCommittedOffset = LogEvent(.info, "input.no-committed-offset")
  package static let inputLost = LogEvent(.warning, "input.lost")
  package static let inputRetrying = LogEvent(.warning, "input.retrying")
  package static let inputError = LogEvent(.error, "input.error")
  package static let inputRepeated = LogEvent(.warning, "input.repeated")
  package static let inputTransactionOpen = LogEvent(.warning, "input.transaction-open")

  // The contents topic is read.
  package static let contentRejected = LogEvent(.warning, "contents.rejected")
  package static let contentsRetrying = LogEvent(.warning, "contents.retrying")

  // Changesets are published.
  package static let transactionProducerRefused = LogEvent(.warning, "transaction.producer-refused")
  package static let transactionProducerAbandoned = LogEvent(.debug, "transaction.producer-abandoned")
  package static let transactionCallFailed = LogEvent(.warning, "transaction.call-failed")
  package static let transactionBatchTooLarge = LogEvent(.warning, "transaction.batch-too-large")
  package static let transactionRecordUndelivered = LogEvent(.warning, "transaction.record-undelivered")
  package static let transactionAborted = LogEvent(.warning, "transaction.aborted")
  package static let transactionOutcomeUnknown = LogEvent(.warning, "transaction.outcome-unknown")

  // The process ends.
  package static let shutdownStopping = LogEvent(.info, "shutdown.stopping")
}
