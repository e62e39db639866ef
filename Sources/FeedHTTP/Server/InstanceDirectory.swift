import FeedKafka
import Kafka
import Service

/// Asks the group which instance has which partitions.
///
/// One client for as long as the process lives, made with the first question.
///
/// Unchecked: the client is made and used on the thread only.
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

  /// Ends it; nothing may be asked any more.
  func stop() { thread.stop() }

  /// Where partitions are served, by number; nil if the group cannot be asked.
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
