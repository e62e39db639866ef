public import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
public import Service

/// `feedstore publish`: sends replay files to their topics.
public struct Publisher: Sendable {
  public var configuration: FeedStoreConfiguration
  /// Files in order; `-` is standard input.
  public var inputs: [String]
  /// The speed, as a multiple of the recorded one; nil for as fast as possible.
  public var speed: Double?
  public var stop: StopRequest
  public var log: Log
  public var showsProgress = true

  public init(
    _ configuration: FeedStoreConfiguration,
    inputs: [String],
    speed: Double?,
    stop: StopRequest,
    log: Log
  ) {
    self.configuration = configuration
    self.inputs = inputs
    self.speed = speed
    self.stop = stop
    self.log = log
  }

  /// Sends everything and waits until it is delivered.
  ///
  /// - Throws: ``ReplayError`` for a file or a line; ``DaemonError`` for a topic or the brokers;
  ///   ``ConfigurationError``.
  public func run() async throws -> PublishReport {
    let settings = try KafkaSettings(configuration)
    let thread = WorkerThread(name: "publisher")
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in
      // librdkafka blocks, so it is used only on this thread.
      try PublishRun(self, settings).run()
    }
  }
}
