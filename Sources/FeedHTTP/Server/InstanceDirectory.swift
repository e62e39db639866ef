import FeedKafka
import Kafka
import Service

/// Asks the consumer group which instance has which partitions.
///
/// It uses one client, which is created by the first request and lives as long as the process.
///
/// Unchecked: the client is created and used only on the thread.
final class InstanceDirectory: @unchecked Sendable {
  private let configuration: KafkaConfiguration
  private let group: String
  private let log: Log
  private let thread = WorkerThread(name: "instances")
  private var client: AdminClient?

  private static let timeoutMilliseconds: Int32 = 2_000

  init(_ configuration: KafkaConfiguration, group: String, log: Log) {
    self.configuration = configuration
    self.group = group
    self.log = log
  }

  /// Stops the thread. Nothing may be requested after that.
  func stop() { thread.stop() }

  /// The addresses that serve the partitions, by number; nil if the group cannot be queried.
  func urls() async -> [Int32: String]? {
    await withTaskExecutorPreference(thread) { @concurrent in self.ask() }
  }

  private func ask() -> [Int32: String]? {
    do throws(KafkaError) {
      if client == nil { client = try AdminClient(configuration: configuration, log: log.kafkaHandler) }
      guard let client else { return nil }
      let members = try client.describeGroup(group, timeoutMilliseconds: Self.timeoutMilliseconds)
      return InstanceAddress.urls(of: members)
    } catch {
      log.write(
        .httpInstancesUnknown,
        "could not look up other instances; clients are not referred to them",
        ["error": error]
      )
      return nil
    }
  }
}
