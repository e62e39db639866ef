import FeedStore
package import Kafka
package import Service

/// Asks a cluster about FeedStore's topics, on the thread of its admin client.
package struct TopicInspection {
  let admin: AdminClient
  package let topics: [String]
  let log: Log

  /// How long the brokers have to tell which topics there are; on the way they may have to be reached.
  static let metadataMilliseconds: Int32 = 15_000
  /// How long they have to tell settings. Some clusters never do.
  static let settingsMilliseconds: Int32 = 5_000

  package init(admin: AdminClient, topics: [String], log: Log) {
    self.admin = admin
    self.topics = topics
    self.log = log
  }

  /// What is known of each topic, and why settings are not known, if so.
  ///
  /// - Parameters:
  ///   - expected: topics that brokers may not tell of yet.
  ///   - wait: how long to ask for them.
  ///   - timeoutMilliseconds: how long each question may take, where that is less than usual.
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

  /// Asks for topics, as long as one is missing and there is time.
  private func find(
    _ expected: [String],
    _ wait: TopicWait,
    _ timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    var wait = wait
    // New topics may not have leaders yet, which is an error that passes.
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

  /// After so long the log may have something to say.
  private static let roundMilliseconds: Int32 = 1_000
}
