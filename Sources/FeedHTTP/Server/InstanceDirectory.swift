import Feed
import FeedClient
import FeedKafka
import FeedStatus
import Kafka
import Service
import Synchronization

/// Asks the consumer group which instance has which partitions.
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

  /// The addresses that serve the partitions, by number; nil if the group cannot be queried.
  func urls() async -> [Int32: String]? {
    await SystemThread.run("instances") { self.lock.withLock { _ in self.ask() } }
  }

  /// The same, without those that are not known. It blocks the thread.
  ///
  /// - Parameter age: an answer of so many milliseconds ago is enough.
  func knownURLs(atMost age: Int64) -> [Int32: String] {
    lock.withLock { _ in
      if let known, MonotonicClock.milliseconds() - known.time <= age { return known.urls }
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

/// Feeds that this instance served and another one serves now, up to a limit.
final class MovedFeeds: Sendable {
  private struct State {
    var partitions: [ByteText: Set<Int32>] = [:]
    var count = 0
    var urls: [Int32: String] = [:]
  }

  /// The maximum number of feeds to remember; others count as unknown.
  private let limit: Int
  private let state = Mutex(State())

  init(limit: Int = 100_000) { self.limit = limit }

  /// Records the feeds of partitions that were revoked.
  func add(_ feeds: [(feed: ByteText, partition: Int32)]) {
    state.withLock { state in
      for (feed, partition) in feeds where state.count < limit {
        if state.partitions[feed, default: []].insert(partition).inserted { state.count += 1 }
      }
    }
  }

  /// Forgets the feeds of partitions that were assigned again.
  func remove(_ partitions: Set<Int32>) {
    guard !partitions.isEmpty else { return }
    state.withLock { state in
      state.partitions = state.partitions.mapValues { $0.subtracting(partitions) }.filter {
        !$0.value.isEmpty
      }
      state.count = state.partitions.values.reduce(0) { $0 + $1.count }
      for partition in partitions { state.urls[partition] = nil }
    }
  }

  var isEmpty: Bool { state.withLock(\.partitions.isEmpty) }

  /// Updates the addresses of partitions. Addresses of other partitions are kept: during a rebalance, no member has
  /// them.
  func note(_ urls: [Int32: String]) { state.withLock { $0.urls.merge(urls) { $1 } } }

  /// The partitions with which a feed moved.
  func partitions(of feed: ByteText) -> Set<Int32> { state.withLock { $0.partitions[feed] ?? [] } }

  /// The address that serves a partition; nil if it is not known.
  func url(of partition: Int32) -> String? { state.withLock { $0.urls[partition] } }
}

/// The feeds that this instance serves, and its knowledge of others.
struct ServedFeeds: Sendable {
  let client: FeedClient
  let reloads: ReloadCache
  let moved: MovedFeeds
  /// The partitions to serve, and whether this set is final.
  let served: @Sendable () -> ServedPartitions

  /// Where a feed is served.
  enum Place: Equatable {
    case here(FeedDescription)
    /// Another instance serves its partition.
    case elsewhere(partition: Int32)
    /// Not known until all partitions have been read.
    case notYet
    case nowhere
  }

  /// - Parameter partition: nil for the lowest that has the feed, here or elsewhere. So an instance does not answer for
  ///   another one's feed with a different feed of the same id.
  func place(of feed: ByteText, in partition: Int32? = nil) -> Place {
    // Evaluated before the client's feeds, which change later.
    let isComplete = isComplete
    let moved = moved.partitions(of: feed)
    if let number = partition ?? moved.union(client.partitions(of: feed.string)).min() {
      if let description = client.description(of: feed.string, in: number) {
        // Until its partition has been read to the end, a feed passes through old states.
        return description.standing == .bootstrapping ? .notYet : .here(description)
      }
      if moved.contains(number) { return .elsewhere(partition: number) }
    }
    return isComplete ? .nowhere : .notYet
  }

  /// The other partitions with a feed of the same id, as far as this instance knows.
  func otherPartitions(_ feed: FeedDescription) -> [Int32] {
    moved.partitions(of: ByteText(feed.feed)).union(client.partitions(of: feed.feed))
      .subtracting([feed.partition]).sorted()
  }

  var partitions: [Int32] { client.partitions.map(\.number) }

  /// The standing over the partitions of the workers, whatever else is followed; `bootstrapping` until they are known.
  var standing: FeedStanding {
    let served = served()
    let followed = client.partitions.filter { served.served.contains($0.number) }
    guard served.isSettled, followed.count == served.served.count else { return .bootstrapping }
    return followed.map(\.standing).min() ?? .upToDate
  }

  /// Whether all feeds of this instance are known, also those on standby.
  private var isComplete: Bool {
    let served = served()
    let followed = client.partitions
    return served.isSettled && served.served.isSubset(of: followed.map(\.number))
      && followed.allSatisfy { $0.standing != .bootstrapping }
  }
}
