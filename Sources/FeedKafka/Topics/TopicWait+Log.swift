package import Kafka
package import Service

extension TopicWait {
  /// Whether to ask again after an answer without these topics; every few seconds the log says so.
  ///
  /// - Parameter now: milliseconds of a clock that nobody sets.
  package mutating func lasts(for topics: [String], at now: Int64, _ log: Log) -> Bool {
    switch step(at: now) {
    case .giveUp: return false
    case .ask: return true
    case .askAndTell(let remaining):
      log.write(
        .startupWaitingForTopics,
        "waiting for topics",
        ["missing": topics.joined(separator: ","), "remaining": "\(remaining)s"]
      )
      return true
    }
  }

  /// Asks which of the topics exist, again as long as one is missing and the wait lasts.
  ///
  /// - Parameters:
  ///   - question: asks once.
  ///   - pause: serves the client for so many milliseconds, between two questions.
  package func metadata(
    _ topics: [String],
    _ log: Log,
    question: ([String]) throws(KafkaError) -> TopicMetadata,
    pause: (Int32) throws(KafkaError) -> Void
  ) throws(KafkaError) -> TopicMetadata {
    var wait = self
    while true {
      let metadata = try question(topics)
      let (missing, now) = (metadata.missing, MonotonicClock.milliseconds())
      guard !missing.isEmpty, wait.lasts(for: missing, at: now, log) else { return metadata }
      try pause(TopicWait.pauseMilliseconds)
    }
  }
}
