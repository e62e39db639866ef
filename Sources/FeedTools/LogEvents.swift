package import Diagnostics

/// The events of the other commands.
extension LogEvent {
  // `feedstore publish` and `feedstore rejects publish`.
  package static let publishWaitingForBrokers = LogEvent(.warning, "publish.waiting-for-brokers")
  package static let publishRecordUndelivered = LogEvent(.error, "publish.record-undelivered")
  package static let publishWaitingForTime = LogEvent(.warning, "publish.waiting-for-time")

  // `feedstore replay`.
  package static let replayTimeJumped = LogEvent(.warning, "replay.time-jumped")
}
