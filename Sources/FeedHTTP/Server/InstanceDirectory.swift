import Diagnostics
import FeedKafka
import Kafka
import OperatingSystem
import Synchronization

/// Asks the consumer group which instance serves which partition.
///
/// It uses one client, which is created by the first request and lives as long as the process.
///
/// Unchecked: the variables are used only under the lock.
final class InstanceDirectory: @unchecked Sendable {
  private let configuration: KafkaConfiguration
  private let group: String
  private let log: Log
  private let lock = Mutex(())
  private var client: AdminClient?
  /// The last answer, and its time.
  private var known: (urls: [Int32: String], time: Int64)?

  private static let timeoutMilliseconds: Int32 = 2_000

  init(_ configuration: KafkaConfiguration, group: String, log: Log) {
    self.configuration = configuration
    self.group = group
    self.log = log
  }

  /// The addresses of the partitions' instances, by number. Blocks the thread.
  ///
  /// - Parameter age: a cached answer must be younger than this, in milliseconds.
  func urls(youngerThan age: Int64) -> [Int32: String] {
    lock.withLock { _ in
      if let known, MonotonicClock.milliseconds() - known.time < age { return known.urls }
      let urls = ask() ?? known?.urls ?? [:]
      known = (urls, MonotonicClock.milliseconds())
      return urls
    }
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
