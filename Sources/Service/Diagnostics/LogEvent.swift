/// The kind of a log line. Names are stable: scripts and alerts may depend on them, but not on the message.
///
/// All events of all modules are declared here. `docs/operating.md` explains each, and
/// `docs/schemas/log-line.schema.json` lists them. The part before the first dot is the area.
package enum LogEvent: String, Sendable, CaseIterable {
  // The process starts.
  case startupStarting = "startup.starting"
  case startupEmbeddedBroker = "startup.embedded-broker"
  case startupCrashTest = "startup.crash-test"
  case startupWaitingForBrokers = "startup.waiting-for-brokers"
  case startupWaitingForTopics = "startup.waiting-for-topics"
  case startupTopicMismatch = "startup.topic-mismatch"
  case startupTopicsUnchecked = "startup.topics-unchecked"

  // The topics' partitions change while the process runs.
  case topicsPartitionsChanged = "topics.partitions-changed"

  // The configuration is read.
  case configUnknownVariable = "config.unknown-variable"
  case configReloaded = "config.reloaded"
  case configRestartRequired = "config.restart-required"
  case configReloadFailed = "config.reload-failed"

  // The consumer group.
  case groupJoining = "group.joining"
  case groupRejoining = "group.rejoining"
  case groupAssigned = "group.assigned"
  case groupRevoked = "group.revoked"
  case groupLost = "group.lost"
  case groupProtocolMismatch = "group.protocol-mismatch"
  case groupEvicted = "group.evicted"
  case groupPollFailed = "group.poll-failed"
  case groupLeaveFailed = "group.leave-failed"

  // Feeds are restored from the changesets topic.
  case restoreProgress = "restore.progress"
  case restoreWaiting = "restore.waiting"
  case restoreRetrying = "restore.retrying"
  case restoreStaleEnd = "restore.stale-end"
  case restoreTransactionEnded = "restore.transaction-ended"
  case restoreTransactionLeftOpen = "restore.transaction-left-open"
  case restoreFinished = "restore.finished"

  // Partitions are followed that no worker has.
  case standbyReady = "standby.ready"
  case standbyPartitionTooLarge = "standby.partition-too-large"
  case standbyPartitionRestarted = "standby.partition-restarted"
  case standbyPartitionDamaged = "standby.partition-damaged"
  case standbyDiscarded = "standby.discarded"
  case standbyFollowerFailed = "standby.follower-failed"

  // A partition requires an operator.
  case partitionStopped = "partition.stopped"
  case partitionStillStopped = "partition.still-stopped"

  // Input is read.
  case inputNoCommittedOffset = "input.no-committed-offset"
  case inputLost = "input.lost"
  case inputRetrying = "input.retrying"
  case inputError = "input.error"
  case inputRepeated = "input.repeated"
  case inputFieldIgnored = "input.field-ignored"
  case inputFeedInSeveralPartitions = "input.feed-in-several-partitions"
  case inputRewindFailed = "input.rewind-failed"
  case inputResumeFailed = "input.resume-failed"

  // Changesets are published.
  case transactionWaitingForCoordinator = "transaction.waiting-for-coordinator"
  case transactionProducerRefused = "transaction.producer-refused"
  case transactionProducerAbandoned = "transaction.producer-abandoned"
  case transactionCallFailed = "transaction.call-failed"
  case transactionBatchTooLarge = "transaction.batch-too-large"
  case transactionRecordUndelivered = "transaction.record-undelivered"
  case transactionAborted = "transaction.aborted"
  case transactionOutcomeUnknown = "transaction.outcome-unknown"

  // HTTP is served.
  case httpServing = "http.serving"
  case httpFollowerFailed = "http.follower-failed"
  case httpInstancesUnknown = "http.instances-unknown"

  // The embedded broker (`--embedded`).
  case embeddedRequestRefused = "embedded.request-refused"
  case embeddedProducersHeld = "embedded.producers-held"

  // librdkafka's own lines; the facility is a field.
  case kafkaClientError = "kafka.client.error"
  case kafkaClientWarning = "kafka.client.warning"
  case kafkaClientConnectionRefused = "kafka.client.connection-refused"
  case kafkaClientDebug = "kafka.client.debug"

  // `feedstore publish` and `feedstore rejects publish`.
  case publishWaitingForBrokers = "publish.waiting-for-brokers"
  case publishRecordUndelivered = "publish.record-undelivered"
  case publishWaitingForTime = "publish.waiting-for-time"

  // `feedstore replay`.
  case replayTimeJumped = "replay.time-jumped"

  // The process ends.
  case shutdownRequested = "shutdown.requested"
  case shutdownStopping = "shutdown.stopping"
  case shutdownTimedOut = "shutdown.timed-out"
  case shutdownCompleted = "shutdown.completed"
  case shutdownFailed = "shutdown.failed"

  /// The severity, fixed for each event.
  package var level: LogLevel {
    switch self {
    case .startupTopicsUnchecked, .transactionProducerAbandoned, .kafkaClientDebug:
      .debug
    case .startupStarting, .configReloaded, .groupJoining, .groupRejoining, .groupAssigned, .groupRevoked,
      .groupLost,
      .restoreProgress, .restoreTransactionEnded, .restoreFinished, .standbyReady, .inputNoCommittedOffset,
      .httpServing,
      .shutdownRequested,
      .shutdownStopping, .shutdownCompleted:
      .info
    case .startupEmbeddedBroker, .startupCrashTest, .startupWaitingForBrokers, .startupWaitingForTopics,
      .startupTopicMismatch, .configUnknownVariable, .configRestartRequired, .groupEvicted, .groupPollFailed,
      .groupLeaveFailed, .restoreWaiting, .restoreRetrying,
      .restoreStaleEnd, .restoreTransactionLeftOpen, .standbyPartitionTooLarge, .standbyPartitionRestarted,
      .standbyPartitionDamaged,
      .standbyDiscarded, .standbyFollowerFailed, .inputLost, .inputRetrying, .inputRepeated,
      .inputFieldIgnored,
      .inputFeedInSeveralPartitions,
      .inputRewindFailed, .inputResumeFailed,
      .transactionWaitingForCoordinator, .transactionProducerRefused, .transactionCallFailed,
      .transactionBatchTooLarge, .transactionRecordUndelivered, .transactionAborted,
      .transactionOutcomeUnknown, .httpInstancesUnknown, .embeddedProducersHeld, .kafkaClientWarning,
      .publishWaitingForBrokers, .publishWaitingForTime, .replayTimeJumped:
      .warning
    case .topicsPartitionsChanged, .configReloadFailed, .groupProtocolMismatch, .partitionStopped,
      .partitionStillStopped, .inputError,
      .httpFollowerFailed,
      .embeddedRequestRefused, .kafkaClientError, .kafkaClientConnectionRefused, .publishRecordUndelivered,
      .shutdownTimedOut, .shutdownFailed:
      .error
    }
  }

  /// Whether repetitions are counted instead of written.
  ///
  /// Events that report the daemon's state are always written, so that the last line shows the current state. So are
  /// events that an operator waits for: after a reload, and while a start waits for topics.
  package var isCounted: Bool {
    switch self {
    case .configReloadFailed, .configRestartRequired, .startupWaitingForTopics, .topicsPartitionsChanged:
      false
    default: level >= .warning
    }
  }

  /// Whether it concerns the process's view of the brokers, so that repetitions by all workers are counted together.
  package var isOfProcess: Bool {
    switch self {
    case .startupWaitingForBrokers, .kafkaClientError, .kafkaClientWarning, .kafkaClientConnectionRefused:
      true
    default: false
    }
  }
}

/// The severity of a log line. As a threshold, each level includes those after it.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// Details for developers.
  case debug
  /// Normal operation: starts, stops, assignments.
  case info
  /// Conditions that an operator may have to examine.
  case warning
  /// Failures.
  case error

  package static func < (first: LogLevel, second: LogLevel) -> Bool {
    first.severity < second.severity
  }

  /// The position among all cases.
  var severity: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}
