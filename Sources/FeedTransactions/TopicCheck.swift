package import Diagnostics
package import FeedKafka
import FeedStatus
package import FeedStore
import Kafka
import OperatingSystem

/// Checks the topics' settings when a daemon starts, warns of unsuitable ones, and gives the workers the size
/// limit of rejected records. Then checks every few seconds whether the topics still have the same partitions.
///
/// It never stops the daemon: a cluster may refuse to describe its topics. ``TopicLayout`` checks the
/// partitions at the start, and does stop a daemon.
package struct TopicCheck: Sendable {
  package let settings: KafkaSettings
  package let options: FeedStoreOptions
  package let environment: WorkerEnvironment

  package init(_ settings: KafkaSettings, _ options: FeedStoreOptions, _ environment: WorkerEnvironment) {
    self.settings = settings
    self.options = options
    self.environment = environment
  }

  private var log: Log { environment.log }

  /// The interval of the requests for the partitions. Consumers use the same one.
  private static let watchSeconds = 5
  private static let answerMilliseconds: Int32 = 1_000

  /// Requests the settings once, with a short timeout, then the partitions until cancelled. Uses its own thread.
  package func run() async {
    let thread = WorkerThread(name: "topics")
    defer { thread.stop() }
    await withTaskExecutorPreference(thread) { @concurrent in
      do throws(KafkaError) {
        try work()
      } catch {
        log.write(.startupTopicsUnchecked, "topic settings were not checked", ["error": error])
      }
      await watch()
    }
  }

  /// Ignores errors of the brokers, which the workers report.
  private func watch() async {
    // A consumer, because its requests create no topics.
    guard let client = try? Consumer(configuration: settings.reader, log: { _, _, _ in }) else { return }
    let batch = client.makeBatch(capacity: 1)
    while (try? await Task.sleep(for: .seconds(Self.watchSeconds))) != nil {
      do throws(KafkaError) {
        // Discards the client's events.
        try client.poll(into: batch, timeoutMilliseconds: 0)
        let metadata = try client.metadataByName(
          options.topics.distinct,
          timeoutMilliseconds: Self.answerMilliseconds
        )
        log.write(environment.status.changeTopics { $0.note(metadata) })
      } catch {}
    }
    try? client.close(timeoutMilliseconds: Self.answerMilliseconds)
  }

  private func work() throws(KafkaError) {
    let requirements = TopicRequirements(options, batchBytes: settings.batchBytes)
    // The workers report connection errors.
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

extension Log {
  package func write(_ changes: [TopicChanges.Change]) {
    for change in changes {
      write(.topicsPartitionsChanged, "the partitions of a topic have changed", change.fields)
    }
  }
}
