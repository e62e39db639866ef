import Diagnostics
import FeedClient
import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
import OperatingSystem
import Settings

/// A client for the duration of one command: it runs while the body does, and stops on request.
package struct FollowSession {
  let client: FeedClient
  private let topic: String
  private let startupTimeoutMilliseconds: Int64
  private let stop: StopRequest
  private let connectionFaults: ConnectionFaults

  private static let lookMilliseconds = 100
  /// The timeout of the last topic request.
  private static let answerMilliseconds: Int64 = 5_000
  /// The maximum time without a record when a topic is read once.
  package static let patienceMilliseconds: Int64 = 30_000

  /// - Parameter feeds: the ids of the feeds to follow; nil for all.
  /// - Throws: ``ConfigurationError`` for `kafka.*`.
  init(
    _ configuration: FeedStoreConfiguration,
    feeds: [String]? = nil,
    stop: StopRequest,
    log: Log
  ) throws(ConfigurationError) {
    let settings = try KafkaSettings(configuration)
    client = FeedClient(
      FeedClientOptions(
        kafka: settings.restorer,
        topic: configuration.store.topics.changesets,
        feeds: feeds,
        topicTimeout: .milliseconds(configuration.startupTimeoutMilliseconds)
      ),
      log: log.kafkaHandler
    )
    topic = configuration.store.topics.changesets
    startupTimeoutMilliseconds = configuration.startupTimeoutMilliseconds
    self.stop = stop
    connectionFaults = settings.connectionFaults
  }

  /// Reads the topic to its end, then runs the body and returns its result.
  ///
  /// - Parameter patienceMilliseconds: the maximum time without a record.
  /// - Throws: ``FeedClientError``; ``StoppedEarly``; ``DaemonError`` if nothing arrives for that long; errors of the
  ///   body.
  func readOnce<Result: Sendable>(
    patienceMilliseconds: Int64,
    _ body: (FeedClient) throws -> Result
  ) async throws -> Result {
    try await run { client in
      let watch = Task { await waitForSilence(patienceMilliseconds) }
      defer { watch.cancel() }
      guard await client.waitUntilUpToDate() else {
        watch.cancel()
        guard await watch.value else { throw StoppedEarly() }
        if let reason = connectionFaults.reason { throw DaemonError(.kafka, reason) }
        throw DaemonError.silence(of: topic, milliseconds: patienceMilliseconds)
      }
      return try body(client)
    }
  }

  /// Stops the client after a time without records.
  ///
  /// - Returns: whether it stopped the client; false if the client ended first.
  private func waitForSilence(_ milliseconds: Int64) async -> Bool {
    var positions: [Int64] = []
    var lastSign = MonotonicClock.milliseconds()
    // The client has its own timeout for missing topics, with a better message.
    let topicMilliseconds =
      startupTimeoutMilliseconds == 0
      ? milliseconds : max(milliseconds, startupTimeoutMilliseconds + Self.answerMilliseconds)
    while !Task.isCancelled, !stop.isRequested, client.standing != .upToDate {
      let now = MonotonicClock.milliseconds()
      let newest = client.partitions.map(\.position)
      if newest != positions {
        positions = newest
        lastSign = now
      } else if now - lastSign >= (newest.isEmpty ? topicMilliseconds : milliseconds) {
        client.stop()
        return true
      }
      try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
    }
    return false
  }

  /// - Throws: ``FeedClientError``, and errors of the body.
  func run<Result: Sendable>(_ body: (FeedClient) async throws -> Result) async throws -> Result {
    async let running: Void = client.run()
    async let _: Void = endWhenAsked()
    let result: Result
    do {
      result = try await body(client)
    } catch {
      client.stop()
      // If the client failed, its error is the cause of the body's.
      try await running
      throw error
    }
    client.stop()
    try await running
    if let failure = StandardOutput.failure { throw failure }
    return result
  }

  private func endWhenAsked() async {
    while !stop.isRequested, !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
    }
    client.stop()
  }
}

/// A stop was requested before the topic had been read to its end, so the state of its feeds is unknown.
package struct StoppedEarly: Error, Equatable, CustomStringConvertible {
  package var description: String {
    """
    stopped before the changesets topic was read to its end, so what feeds there are is not known; if nothing was \
    read, check kafka.bootstrap.servers
    """
  }
}
