import Feed
public import FeedConfiguration
import FeedKafka
import FeedStore
import FeedVerification
import Kafka
public import Service

/// `feedstore verify`: checks changesets, in files or on a cluster, against the protocol.
public struct Verification: Sendable {
  /// The source of the changesets.
  public enum Input: Sendable, Equatable {
    /// Output files of a replay, in order; `-` is standard input.
    case files([String])
    /// The configured changesets topic.
    case topic
  }

  public var configuration: FeedStoreConfiguration
  public var input: Input
  public var log: Log
  /// Called with each fault as a line.
  public var tell: @Sendable (String) -> Void

  public init(
    _ configuration: FeedStoreConfiguration,
    input: Input,
    log: Log,
    tell: @escaping @Sendable (String) -> Void
  ) {
    self.configuration = configuration
    self.input = input
    self.log = log
    self.tell = tell
  }

  /// Reads all changesets.
  ///
  /// - Throws: ``ReplayError`` for files that cannot be read; ``ConfigurationError`` and ``DaemonError`` for a topic.
  ///   Faults in changesets are reported and counted, not thrown.
  public func run() async throws -> VerificationReport {
    let started = MonotonicClock.nanoseconds()
    var options = VerificationOptions(
      keyframes: configuration.store.keyframe,
      output: configuration.store.output,
      mayBeCompacted: input == .topic
    )
    options.requiresPlans = input != .topic
    let verifier: FaultReporter
    switch input {
    case .files(let paths):
      verifier = FaultReporter(options, .files(paths), tell)
      try FileVerification(paths: paths, topics: configuration.store.topics).run(verifier)
    case .topic:
      verifier = FaultReporter(options, .topic(configuration.store.topics.changesets), tell)
      try await verifyTopic(verifier)
    }
    verifier.finish()
    return VerificationReport(
      counts: verifier.counts,
      faults: verifier.faults,
      nanoseconds: MonotonicClock.nanoseconds() - started
    )
  }

  private func verifyTopic(_ verifier: FaultReporter) async throws {
    let settings = try KafkaSettings(configuration)
    // The caller waits for this, and uses it only afterwards.
    nonisolated(unsafe) let verifier = verifier
    try await WorkerThread.withKafka("verify") {
      try TopicVerification(settings, configuration, log: log).run(verifier)
    }
  }
}
