package import Diagnostics
package import Kafka
import OperatingSystem

/// Queries a cluster for FeedStore's topics, on the admin client's thread.
package struct TopicInspection {
  let admin: AdminClient
  package let topics: [String]
  let log: Log

  /// The timeout for topic metadata, which includes connecting to the brokers.
  static let metadataMilliseconds: Int32 = 15_000
  /// The timeout for topic settings. Some clusters never answer.
  package static let settingsMilliseconds: Int32 = 5_000

  package init(admin: AdminClient, topics: [String], log: Log) {
    self.admin = admin
    self.topics = topics
    self.log = log
  }

  /// The state of each topic, and the error if settings could not be read.
  ///
  /// - Parameters:
  ///   - expected: topics that the brokers may not know yet.
  ///   - wait: how long to wait for these topics.
  ///   - timeoutMilliseconds: a shorter timeout for each request.
  package func states(
    waitingFor expected: [String] = [],
    wait: TopicWait = TopicWait(milliseconds: 0),
    timeoutMilliseconds: Int32 = .max
  ) throws(KafkaError) -> (states: [String: TopicState], unknown: KafkaError?) {
    let metadataMilliseconds = min(timeoutMilliseconds, Self.metadataMilliseconds)
    let rest = topics.filter { !expected.contains($0) }
    var counts: [String: Int32] = [:]
    if !rest.isEmpty {
      counts = try admin.metadata(rest, timeoutMilliseconds: metadataMilliseconds).partitionCounts
    }
    if !expected.isEmpty {
      let metadata = try wait.metadata(expected, log) { topics throws(KafkaError) in
        try firstMetadata(topics, timeoutMilliseconds: metadataMilliseconds)
      } pause: { milliseconds throws(KafkaError) in
        try admin.pause(milliseconds: milliseconds)
      }
      counts.merge(metadata.partitionCounts) { $1 }
    }
    var states = counts.mapValues { TopicState(partitions: $0) }

    // An embedded cluster answers no such request.
    if try admin.isOnEmbeddedCluster(timeoutMilliseconds: 0) {
      let reason = "an embedded broker does not report them"
      return (states, .make(.unsupportedFeature, "read the settings of topics", detail: reason))
    }
    let existing = topics.filter { states[$0] != nil }
    let answers = try admin.waitForConfigurations(
      existing,
      timeoutMilliseconds: min(timeoutMilliseconds, Self.settingsMilliseconds)
    )
    var unknown: KafkaError?
    for topic in existing {
      do { states[topic]?.settings = try answers[topic]?.get() } catch { unknown = unknown ?? error }
    }
    return (states, unknown)
  }

  /// Repeats the query until there is a response: new topics may have no leader yet, a transient error.
  private func firstMetadata(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    let end = MonotonicClock.milliseconds() + Int64(timeoutMilliseconds)
    while true {
      let left = Int32(clamping: max(1, end - MonotonicClock.milliseconds()))
      do throws(KafkaError) {
        return try admin.metadata(topics, timeoutMilliseconds: left)
      } catch {
        guard error.isRetriable, MonotonicClock.milliseconds() < end else { throw error }
      }
      try admin.pause(milliseconds: min(TopicWait.pauseMilliseconds, left))
    }
  }
}

package struct TopicState: Sendable, Equatable {
  /// The number of partitions; nil if the topic does not exist or is not visible.
  package var partitions: Int32?
  /// The topic's settings, including the brokers' defaults; nil if they could not be read.
  package var settings: [String: String]?

  package init(partitions: Int32? = nil, settings: [String: String]? = nil) {
    self.partitions = partitions
    self.settings = settings
  }

  package var exists: Bool { partitions != nil }

  package func integer(_ name: String) -> Int64? { settings?[name].flatMap { Int64($0) } }
}

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
  ///   - pause: serves the client for this many milliseconds between two queries.
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
