import FeedClient
import FeedStore
import Service

/// A client for the length of one command: it runs while the body does, and ends when it is asked to stop.
struct FollowSession {
  let client: FeedClient
  private let stop: StopRequest
  /// The file that it begins with, and saves at its end; nil for none.
  private let state: String?

  private static let lookMilliseconds = 100

  /// - Throws: ``ConfigurationError`` for `kafka.*`, and for a state that cannot be read or written.
  init(
    _ configuration: PipelineConfiguration,
    state: String? = nil,
    stop: StopRequest,
    log: Log
  ) throws(ConfigurationError) {
    if let state { try FollowState.check(state) }
    let settings = try KafkaSettings(configuration.kafka)
    client = FeedClient(
      FeedClientOptions(
        kafka: settings.restorer,
        topic: configuration.store.topics.changesets,
        savedState: state.map { SavedStateOptions(path: $0) }
      ),
      log: log.kafkaHandler
    )
    self.state = state
    self.stop = stop
  }

  /// - Throws: ``FeedClientError``, and what the body throws.
  func run<Result: Sendable>(_ body: (FeedClient) async throws -> Result) async throws -> Result {
    async let running: Void = client.run()
    async let _: Void = endWhenAsked()
    let result: Result
    do {
      result = try await body(client)
    } catch {
      client.stop()
      throw error
    }
    client.stop()
    try await running
    if let state { try await client.save(to: state) }
    return result
  }

  private func endWhenAsked() async {
    while !stop.isRequested, !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
    }
    client.stop()
  }
}
