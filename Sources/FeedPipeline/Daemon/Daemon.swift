import FeedStore
import Kafka
public import Service

/// `feedstore run`: keeps feeds from Kafka's input topics and publishes what changes in them.
///
/// State is kept in memory, and restored from the changesets topic after a start or a rebalance: feeds go on
/// with the records after the committed offsets.
public struct Daemon: Sendable {
  public var configuration: PipelineConfiguration
  /// Whether the broker is to be within the process.
  public var isEmbedded: Bool
  public var stop: StopRequest
  public var log: Log
  /// Told on the worker's thread what happens.
  public var onEvent: @Sendable (DaemonEvent) -> Void

  public init(
    _ configuration: PipelineConfiguration,
    isEmbedded: Bool = false,
    stop: StopRequest,
    log: Log,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.isEmbedded = isEmbedded
    self.stop = stop
    self.log = log
    self.onEvent = onEvent
  }

  /// Works until it is asked to stop, then publishes what waits, commits and leaves the group.
  ///
  /// - Throws: ``ConfigurationError`` for settings that cannot be; ``DaemonError`` with the cause and the
  ///   remedy.
  public func run() async throws -> DaemonReport {
    var broker: EmbeddedBroker?
    if isEmbedded {
      // Refused before anything is begun.
      _ = try KafkaSettings(configuration.kafka, embedded: [])
      broker = try EmbeddedBroker(topics: configuration.store.topics, log: log)
    }
    defer { broker?.stop() }
    let settings = try KafkaSettings(configuration.kafka, embedded: broker?.properties)
    if let broker { onEvent(.listening(bootstrapServers: broker.bootstrapServers)) }

    // The embedded broker tells no settings.
    let check = isEmbedded ? nil : TopicCheck(settings: settings, options: configuration.store, log: log)
    async let _ = check?.run()
    let thread = WorkerThread(name: "worker-0")
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in
      try await makeWorker(settings).run()
    }
  }

  private func makeWorker(_ settings: KafkaSettings) throws -> Worker {
    do {
      return try Worker(
        number: 0,
        options: configuration.store,
        settings: settings,
        lostInput: configuration.lostInput,
        stop: stop,
        log: log.with(["worker": 0]),
        onEvent: onEvent
      )
    } catch {
      throw error.isProperty ? ConfigurationError(.outOfRange, error.message) : DaemonError(error)
    }
  }
}

extension KafkaError {
  /// Whether a client could not be made for a property that it does not know or take.
  var isProperty: Bool { kind == .invalidArgument }
}
