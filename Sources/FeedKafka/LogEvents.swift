package import Diagnostics

/// The events of topics, librdkafka's clients and the embedded broker.
extension LogEvent {
  package static let startupWaitingForTopics = LogEvent(
    .warning,
    "startup.waiting-for-topics",
    isCounted: false
  )
  package static let inputFeedInSeveralPartitions = LogEvent(.warning, "input.feed-in-several-partitions")

  // The embedded broker (`--embedded`).
  package static let embeddedRequestRefused = LogEvent(.error, "embedded.request-refused")
  package static let embeddedProducersHeld = LogEvent(.warning, "embedded.producers-held")

  // librdkafka's own lines; the facility is a field.
  package static let kafkaClientError = LogEvent(.error, "kafka.client.error", isOfProcess: true)
  package static let kafkaClientWarning = LogEvent(.warning, "kafka.client.warning", isOfProcess: true)
  package static let kafkaClientConnectionRefused = LogEvent(
    .error,
    "kafka.client.connection-refused",
    isOfProcess: true
  )
  package static let kafkaTokenFailed = LogEvent(.error, "kafka.token-failed", isOfProcess: true)
  package static let kafkaClientDebug = LogEvent(.debug, "kafka.client.debug")
}
