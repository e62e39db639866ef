import FeedKafka
import Kafka
import Service

extension WorkerThread {
  /// Does work with librdkafka, which blocks, on a thread of its own.
  ///
  /// - Parameter name: the thread's.
  /// - Throws: what `body` throws, errors of Kafka as ``ConfigurationError`` or ``DaemonError``.
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
