import Diagnostics

/// Events of modules that these tests do not use.
extension LogEvent {
  static let startupWaitingForBrokers = LogEvent(.warning, "startup.waiting-for-brokers", isOfProcess: true)
  static let groupJoining = LogEvent(.info, "group.joining")
  static let groupAssigned = LogEvent(.info, "group.assigned")
  static let restoreFinished = LogEvent(.info, "restore.finished")
  static let inputRetrying = LogEvent(.warning, "input.retrying")
  static let inputError = LogEvent(.error, "input.error")
  static let kafkaClientError = LogEvent(.error, "kafka.client.error", isOfProcess: true)
  static let kafkaClientDebug = LogEvent(.debug, "kafka.client.debug")
}
