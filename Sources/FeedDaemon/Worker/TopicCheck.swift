package import FeedKafka
package import FeedStore
import Kafka
import Service

/// Looks at the topics' settings when a daemon starts, warns of what it cannot work with, and tells the workers
/// how large rejected records may be.
///
/// It stops nobody: a cluster may not tell settings, or only to others. Partitions are left to
/// ``TopicLayout``, which does stop a daemon.
package struct TopicCheck: Sendable {
  let settings: KafkaSettings
  let options: FeedStoreOptions
  let environment: WorkerEnvironment

  package init(_ settings: KafkaSettings, _ options: FeedStoreOptions, _ environment: WorkerEnvironment) {
    self.settings = settings
    self.options = options
    self.environment = environment
  }

  private var log: Log { environment.log }

  /// Asks once, on a thread of its own, and gives up soon.
  package func run() async {
    let thread = WorkerThread(name: "topics")
    defer { thread.stop() }
    await withTaskExecutorPreference(thread) { @concurrent in
      do throws(KafkaError) {
        try work()
      } catch {
        log.write(.startupTopicsUnchecked, "topic settings were not checked", ["error": error])
      }
    }
  }

  private func work() throws(KafkaError) {
    let requirements = TopicRequirements(options, batchBytes: settings.batchBytes)
    // What keeps the brokers from being reached, the workers tell.
    let admin = try AdminClient(configuration: settings.admin, log: { _, _, _ in })
    let inspection = TopicInspection(admin: admin, topics: requirements.roles.map(\.topic), log: log)
    let (states, unknown) = try inspection.states(timeoutMilliseconds: 2_000)
    if let unknown { log.write(.startupTopicsUnchecked, "topic settings are unknown", ["error": unknown]) }
    if let limit = states[options.topics.rejected]?.integer(TopicRequirement.Kind.messageBytes.rawValue) {
      environment.rejectedLimit.set(maxMessageBytes: Int(limit))
    }
    for requirement in requirements.check(states) {
      guard requirement.verdict == .must, requirement.kind != .partitions else { continue }
      log.write(
        .startupTopicMismatch,
        "topic settings do not meet the requirements",
        ["topic": requirement.topic, "problem": requirement]
      )
    }
    try admin.close(timeoutMilliseconds: 1_000)
  }
}
