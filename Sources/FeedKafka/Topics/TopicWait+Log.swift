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
}

extension Consumer {
  /// Asks which of the topics exist, again and again as long as one is missing and the wait lasts.
  ///
  /// - Parameters:
  ///   - batch: for the polls in between, before anything is assigned.
  ///   - timeoutMilliseconds: how long one question may take.
  package func metadata(
    _ topics: [String],
    waiting wait: TopicWait,
    _ batch: MessageBatch,
    timeoutMilliseconds: Int32,
    _ log: Log
  ) throws(KafkaError) -> TopicMetadata {
    var wait = wait
    while true {
      let metadata = try metadata(topics, timeoutMilliseconds: timeoutMilliseconds)
      let (missing, now) = (metadata.missing, MonotonicClock.milliseconds())
      guard !missing.isEmpty, wait.lasts(for: missing, at: now, log) else { return metadata }
      try poll(into: batch, timeoutMilliseconds: TopicWait.pauseMilliseconds)
    }
  }
}
