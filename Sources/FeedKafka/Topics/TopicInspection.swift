import FeedStore
package import Kafka
package import Service

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
  ///   - wait: how long to wait for them.
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
      counts.merge(try find(expected, wait, metadataMilliseconds).partitionCounts) { $1 }
    }
    var states = counts.mapValues { TopicState(partitions: $0) }

    let existing = topics.filter { states[$0] != nil }
    let answers = try admin.waitForConfigurations(
      existing,
      timeoutMilliseconds: min(timeoutMilliseconds, Self.settingsMilliseconds)
    )
    var unknown: KafkaError?
    for topic in existing {
      switch answers[topic] {
      case .success(let settings)?: states[topic]?.settings = settings
      case .failure(let error)?: unknown = unknown ?? error
      case nil: break
      }
    }
    return (states, unknown)
  }

  /// Queries topics until none is missing or the time is up.
  private func find(
    _ expected: [String],
    _ wait: TopicWait,
    _ timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    var wait = wait
    // New topics may have no leader yet, which is a transient error.
    var told = try admin.waitForTopics(
      expected,
      timeoutMilliseconds: 0,
      answerMilliseconds: timeoutMilliseconds
    )
    while !told.missing.isEmpty, wait.lasts(for: told.missing, at: MonotonicClock.milliseconds(), log) {
      told = try admin.waitForTopics(
        expected,
        timeoutMilliseconds: Self.roundMilliseconds,
        answerMilliseconds: timeoutMilliseconds
      )
    }
    return told
  }

  /// The interval at which the log may report the wait.
  private static let roundMilliseconds: Int32 = 1_000
}
