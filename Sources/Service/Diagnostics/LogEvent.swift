/// What a log line is about. The names are stable: scripts and alerts may depend on them, whatever the sentence says.
///
/// All events of all modules are declared here, so that one list has them: `docs/operating.md` explains each, and
/// `docs/schemas/log-line.schema.json` lists them. Their areas are what stands before the first point.
public enum LogEvent: String, Sendable, CaseIterable {
  // The process begins.
  case startupStarting = "startup.starting"
  case startupEmbeddedBroker = "startup.embedded-broker"
  case startupCrashTest = "startup.crash-test"
  case startupWaitingForBrokers = "startup.waiting-for-brokers"
  case startupWaitingForTopics = "startup.waiting-for-topics"
  case startupTopicMismatch = "startup.topic-mismatch"
  case startupTopicsUnchecked = "startup.topics-unchecked"

  // The configuration.
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

  // Feeds are read back from the changesets topic.
  case restoreProgress = "restore.progress"
  case restoreWaiting = "restore.waiting"
  case restoreRetrying = "restore.retrying"
  case restoreStaleEnd = "restore.stale-end"
  case restoreFinished = "restore.finished"

  // Partitions are followed that no worker has.
  case standbyReady = "standby.ready"
  case standbyPartitionTooLarge = "standby.partition-too-large"
  case standbyPartitionRestarted = "standby.partition-restarted"
  case standbyPartitionDamaged = "standby.partition-damaged"
  case standbyDiscarded = "standby.discarded"
  case standbyFollowerFailed = "standby.follower-failed"

  // A partition that needs an operator.
  case partitionStopped = "partition.stopped"
  case partitionStillStopped = "partition.still-stopped"

  // Input is read.
  case inputNoCommittedOffset = "input.no-committed-offset"
  case inputLost = "input.lost"
  case inputRetrying = "input.retrying"
  case inputError = "input.error"
  case inputRepeated = "input.repeated"
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

  // The listener.
  case httpServing = "http.serving"
  case httpFollowerFailed = "http.follower-failed"
  case httpInstancesUnknown = "http.instances-unknown"

  // The broker of `--embedded`.
  case embeddedRequestRefused = "embedded.request-refused"
  case embeddedProducersHeld = "embedded.producers-held"

  // What librdkafka says; its facility is a field.
  case kafkaClientError = "kafka.client.error"
  case kafkaClientWarning = "kafka.client.warning"
  case kafkaClientConnectionRefused = "kafka.client.connection-refused"
  case kafkaClientDebug = "kafka.client.debug"

  // `feedstore publish` and `feedstore rejects publish`.
  case publishWaitingForBrokers = "publish.waiting-for-brokers"
  case publishRecordUndelivered = "publish.record-undelivered"

  // The process ends.
  case shutdownRequested = "shutdown.requested"
  case shutdownStopping = "shutdown.stopping"
  case shutdownTimedOut = "shutdown.timed-out"
  case shutdownCompleted = "shutdown.completed"
  case shutdownFailed = "shutdown.failed"

  /// How much it matters, always the same for one event.
  public var level: LogLevel {
    switch self {
    case .startupTopicsUnchecked, .transactionProducerAbandoned, .kafkaClientDebug:
      .debug
    case .startupStarting, .configReloaded, .groupJoining, .groupRejoining, .groupAssigned, .groupRevoked,
      .groupLost,
      .restoreProgress, .restoreFinished, .standbyReady, .inputNoCommittedOffset, .httpServing,
      .shutdownRequested,
      .shutdownStopping, .shutdownCompleted:
      .info
    case .startupEmbeddedBroker, .startupCrashTest, .startupWaitingForBrokers, .startupWaitingForTopics,
      .startupTopicMismatch, .configUnknownVariable, .configRestartRequired, .groupEvicted, .groupPollFailed,
      .groupLeaveFailed, .restoreWaiting, .restoreRetrying,
      .restoreStaleEnd, .standbyPartitionTooLarge, .standbyPartitionRestarted, .standbyPartitionDamaged,
      .standbyDiscarded, .standbyFollowerFailed, .inputLost, .inputRetrying, .inputRepeated,
      .inputRewindFailed, .inputResumeFailed,
      .transactionWaitingForCoordinator, .transactionProducerRefused, .transactionCallFailed,
      .transactionBatchTooLarge, .transactionRecordUndelivered, .transactionAborted,
      .transactionOutcomeUnknown, .httpInstancesUnknown, .embeddedProducersHeld, .kafkaClientWarning,
      .publishWaitingForBrokers:
      .warning
    case .configReloadFailed, .groupProtocolMismatch, .partitionStopped, .partitionStillStopped, .inputError,
      .httpFollowerFailed,
      .embeddedRequestRefused, .kafkaClientError, .kafkaClientConnectionRefused, .publishRecordUndelivered,
      .shutdownTimedOut, .shutdownFailed:
      .error
    }
  }

  /// Whether lines that say the same are counted instead of repeated.
  ///
  /// Not those that say what state the daemon is in: the last of them must be the newest. Nor those that an operator
  /// waits for: after a reload, and while a start waits for topics.
  public var isCounted: Bool {
    switch self {
    case .configReloadFailed, .configRestartRequired, .startupWaitingForTopics: false
    default: level >= .warning
    }
  }

  /// Whether it is about the brokers as the process sees them, so that what all workers say of it is counted together.
  public var isOfProcess: Bool {
    switch self {
    case .startupWaitingForBrokers, .kafkaClientError, .kafkaClientWarning, .kafkaClientConnectionRefused:
      true
    default: false
    }
  }
}
