import FeedConfiguration
import FeedKafka
import Kafka
import Service

extension WorkerThread {
  /// Runs a body that calls librdkafka, which blocks, on a separate thread.
  ///
  /// - Parameter name: the thread's.
  /// - Throws: ``ConfigurationError`` for `kafka.*`; the errors of `body`; Kafka errors as ``ConfigurationError`` or ``DaemonError``.
  static func withKafka<Result: Sendable>(
    _ name: String,
    _ configuration: FeedStoreConfiguration,
    _ body: @Sendable (KafkaSettings) throws -> Result
  ) async throws -> Result {
    let settings = try KafkaSettings(configuration)
    let thread = WorkerThread(name: name)
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in
      do {
        return try body(settings)
      } catch let error as KafkaError {
        throw error.configurationOrDaemonError
      }
    }
  }
}
