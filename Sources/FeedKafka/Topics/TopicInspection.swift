import FeedStore
package import Kafka
import Service

/// Asks a cluster about FeedStore's topics, on the thread of its admin client.
package struct TopicInspection {
  let admin: AdminClient
  let topics: [String]

  /// How long the brokers have to tell which topics there are; on the way they may have to be reached.
  static let metadataMilliseconds: Int32 = 15_000
  /// How long they have to tell settings. Some clusters never do.
  static let settingsMilliseconds: Int32 = 5_000

  package init(admin: AdminClient, topics: [String]) {
    self.admin = admin
    self.topics = topics
  }

  /// What is known of each topic, and why settings are not known, if so.
  ///
  /// - Parameters:
  ///   - expected: topics that have just been created, and that brokers may not tell of yet.
  ///   - timeoutMilliseconds: how long each question may take, where that is less than usual.
  package func states(
    waitingFor expected: [String] = [],
    timeoutMilliseconds: Int32 = .max
  ) throws(KafkaError) -> (states: [String: TopicState], unknown: KafkaError?) {
    let metadataMilliseconds = min(timeoutMilliseconds, Self.metadataMilliseconds)
    let rest = topics.filter { !expected.contains($0) }
    var counts: [String: Int32] = [:]
    if !rest.isEmpty {
      counts = try admin.metadata(rest, timeoutMilliseconds: metadataMilliseconds).partitionCounts
    }
    if !expected.isEmpty {
      let metadata = try admin.waitForTopics(expected, timeoutMilliseconds: metadataMilliseconds)
      counts.merge(metadata.partitionCounts) { $1 }
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
}
