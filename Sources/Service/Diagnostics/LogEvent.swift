/// The kind of a log line. Names are stable: scripts and alerts may depend on them, but not on the message.
///
/// All events of all modules are declared here. `docs/log.md` explains each, and
/// `docs/schemas/log-line.schema.json` lists them. A raw value is the level and the name, whose part before the first dot is
/// the area.
package enum LogEvent: String, Sendable, CaseIterable {
  // The process starts.
  case startupStarting = "info startup.starting"
  case startupEmbeddedBroker = "warning startup.embedded-broker"
  case startupCrashTest = "warning startup.crash-test"
  case startupAddressSpaceLimited = "warning startup.address-space-limited"
  case startupWaitingForBrokers = "warning startup.waiting-for-brokers"
  case startupWaitingForTopics = "warning startup.waiting-for-topics"
  case startupTopicMismatch = "warning startup.topic-mismatch"
  case startupTopicsUnchecked = "debug startup.topics-unchecked"

  // The topics' partitions change while the process runs.
  case topicsPartitionsChanged = "error topics.partitions-changed"

  // The configuration is read.
  case configUnknownVariable = "warning config.unknown-variable"
  case configReloaded = "info config.reloaded"
  case configRestartRequired = "warning config.restart-required"
  case configReloadFailed = "error config.reload-failed"

  // The consumer group.
  case groupJoining = "info group.joining"
  case groupRejoining = "info group.rejoining"
  case groupAssigned = "info group.assigned"
  case groupRevoked = "info group.revoked"
  case groupLost = "info group.lost"
  case groupProtocolMismatch = "error group.protocol-mismatch"
  case groupEvicted = "warning group.evicted"
  case groupPollFailed = "warning group.poll-failed"
  case groupLeaveFailed = "warning group.leave-failed"

  // Feeds are restored from the changesets topic.
  case restoreProgress = "info restore.progress"
  case restoreWaiting = "warning restore.waiting"
  case restoreRetrying = "warning restore.retrying"
  case restoreStaleEnd = "warning restore.stale-end"
  case restoreTransactionEnded = "info restore.transaction-ended"
  case restoreTransactionLeftOpen = "warning restore.transaction-left-open"
  case restoreFinished = "info restore.finished"

  // Partitions are followed that no worker has.
  case standbyReady = "info standby.ready"
  case standbyPartitionTooLarge = "warning standby.partition-too-large"
  case standbyPartitionRestarted = "warning standby.partition-restarted"
  case standbyPartitionDamaged = "warning standby.partition-damaged"
  case standbyDiscarded = "warning standby.discarded"
  case standbyFollowerFailed = "warning standby.follower-failed"

  // A partition requires an operator.
  case partitionStopped = "error partition.stopped"
  case partitionStillStopped = "error partition.still-stopped"

  // Input is read.
  case inputNoCommittedOffset = "info input.no-committed-offset"
  case inputLost = "warning input.lost"
  case inputRetrying = "warning input.retrying"
  case inputError = "error input.error"
  case inputRepeated = "warning input.repeated"
  case inputTransactionOpen = "warning input.transaction-open"
  case inputFieldIgnored = "warning input.field-ignored"
  case inputFeedInSeveralPartitions = "warning input.feed-in-several-partitions"
  case inputRewindFailed = "warning input.rewind-failed"
  case inputResumeFailed = "warning input.resume-failed"

  // Changesets are published.
  case transactionWaitingForCoordinator = "warning transaction.waiting-for-coordinator"
  case transactionProducerRefused = "warning transaction.producer-refused"
  case transactionProducerAbandoned = "debug transaction.producer-abandoned"
  case transactionCallFailed = "warning transaction.call-failed"
  case transactionBatchTooLarge = "warning transaction.batch-too-large"
  case transactionRecordUndelivered = "warning transaction.record-undelivered"
  case transactionAborted = "warning transaction.aborted"
  case transactionOutcomeUnknown = "warning transaction.outcome-unknown"

  // HTTP is served.
  case httpServing = "info http.serving"
  case httpKeysLeftOut = "warning http.keys-left-out"
  case httpFollowerFailed = "error http.follower-failed"
  case httpInstancesUnknown = "warning http.instances-unknown"

  // The embedded broker (`--embedded`).
  case embeddedRequestRefused = "error embedded.request-refused"
  case embeddedProducersHeld = "warning embedded.producers-held"

  // librdkafka's own lines; the facility is a field.
  case kafkaClientError = "error kafka.client.error"
  case kafkaClientWarning = "warning kafka.client.warning"
  case kafkaClientConnectionRefused = "error kafka.client.connection-refused"
  case kafkaClientDebug = "debug kafka.client.debug"

  // `feedstore publish` and `feedstore rejects publish`.
  case publishWaitingForBrokers = "warning publish.waiting-for-brokers"
  case publishRecordUndelivered = "error publish.record-undelivered"
  case publishWaitingForTime = "warning publish.waiting-for-time"

  // `feedstore ingest`.
  case ingestTopicMissing = "warning ingest.topic-missing"
  case ingestRejected = "warning ingest.rejected"
  case ingestProgress = "info ingest.progress"
  case ingestNothingMapped = "warning ingest.nothing-mapped"
  case ingestOrderByBytes = "warning ingest.order-by-bytes"

  // `feedstore replay`.
  case replayTimeJumped = "warning replay.time-jumped"

  // The process ends.
  case shutdownRequested = "info shutdown.requested"
  case shutdownStopping = "info shutdown.stopping"
  case shutdownTimedOut = "error shutdown.timed-out"
  case shutdownCompleted = "info shutdown.completed"
  case shutdownFailed = "error shutdown.failed"

  /// The name, for programs.
  package var name: String { String(rawValue.drop { $0 != " " }.dropFirst()) }

  /// The severity, fixed for each event.
  package var level: LogLevel {
    guard let level = LogLevel(rawValue: String(rawValue.prefix { $0 != " " })) else {
      preconditionFailure("\(rawValue) does not begin with a level")
    }
    return level
  }

  /// Whether repetitions are counted instead of written.
  ///
  /// Events that report the daemon's state are always written, so that the last line shows the current state. So are
  /// events that an operator waits for: after a reload, and while a start waits for topics.
  package var isCounted: Bool {
    switch self {
    case .configReloadFailed, .configRestartRequired, .httpKeysLeftOut, .startupWaitingForTopics,
      .topicsPartitionsChanged:
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
  var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
