package import Kafka
package import Service

extension TopicWait {
  /// Whether to query again after a response without these topics. It logs the wait every few seconds.
  ///
  /// - Parameter now: milliseconds of a monotonic clock.
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

  /// Queries the topics, and repeats it while one is missing and the wait lasts.
  ///
  /// - Parameters:
  ///   - question: performs one query.
  ///   - pause: serves the client for so many milliseconds between two queries.
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
