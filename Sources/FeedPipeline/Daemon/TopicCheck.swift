import FeedStore
import Kafka
import Service

/// Looks at the topics' settings when a daemon starts, warns of what it cannot work with, and tells the workers
/// how large rejected records may be.
///
/// It stops nobody: a cluster may not tell settings, or only to others. Partitions are left to
/// ``TopicLayout``, which does stop a daemon.
struct TopicCheck: Sendable {
  let settings: KafkaSettings
  let options: FeedStoreOptions
  let environment: WorkerEnvironment

  init(_ settings: KafkaSettings, _ options: FeedStoreOptions, _ environment: WorkerEnvironment) {
    self.settings = settings
    self.options = options
    self.environment = environment
  }

  private var log: Log { environment.log }

  /// Asks once, on a thread of its own, and gives up soon.
  func run() async {
    let thread = WorkerThread(name: "topics")
    defer { thread.stop() }
    await withTaskExecutorPreference(thread) { @concurrent in
      do throws(KafkaError) {
        try work()
      } catch {
        log.debug("the topics' settings were not checked", ["error": error])
      }
    }
  }

  private func work() throws(KafkaError) {
    let requirements = TopicRequirements(options, batchBytes: settings.batchBytes)
    // What keeps the brokers from being reached, the workers tell.
    var configuration = settings.admin
    // Not with them: what is told once would be told to nobody.
    configuration.connectionFaults = nil
    let admin = try AdminClient(configuration: configuration, log: { _, _, _ in })
    let inspection = TopicInspection(admin: admin, topics: requirements.roles.map(\.topic))
    let (states, unknown) = try inspection.states(timeoutMilliseconds: 2_000)
    if let unknown { log.debug("the topics' settings are not known", ["error": unknown]) }
    if let limit = states[options.topics.rejected]?.integer(TopicRequirement.Kind.messageBytes.rawValue) {
      environment.rejectedLimit.set(maxMessageBytes: Int(limit))
    }
    for requirement in requirements.check(states) {
      guard requirement.verdict == .must, requirement.kind != .partitions else { continue }
      log.warning("a topic does not fit", ["topic": requirement.topic, "problem": requirement])
    }
    try admin.close(timeoutMilliseconds: 1_000)
  }
}
