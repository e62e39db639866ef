import FeedKafka
import Kafka
import Service

extension WorkerThread {
  /// Runs a body that calls librdkafka, which blocks, on a separate thread.
  ///
  /// - Parameter name: the thread's.
  /// - Throws: the errors of `body`; Kafka errors as ``ConfigurationError`` or ``DaemonError``.
  static func withKafka<Result: Sendable>(
    _ name: String,
    _ body: @Sendable () throws -> Result
  ) async throws -> Result {
    let thread = WorkerThread(name: name)
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in
      do {
        return try body()
      } catch let error as KafkaError {
        throw error.configurationOrDaemonError
      }
    }
  }
}
