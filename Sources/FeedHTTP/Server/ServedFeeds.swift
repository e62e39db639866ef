import Feed
import FeedClient
import FeedStatus
import Synchronization

/// The feeds of this instance, and its knowledge of others.
struct ServedFeeds: Sendable {
  let client: FeedClient
  let reloads: ReloadCache
  let moved: MovedFeeds
  /// The partitions to serve, and whether this set is final.
  let served: @Sendable () -> ServedPartitions

  /// The place where a feed is served.
  enum Location: Equatable {
    case here(FeedDescription)
    /// Another instance serves its partition.
    case elsewhere(partition: Int32)
    /// Not known until all partitions have been read.
    case notYet
    case nowhere
  }

  /// - Parameter partition: nil for the lowest that has the feed, here or elsewhere, so that an instance never returns
  ///   a different feed with the same id as another instance's feed.
  func location(of feed: ByteText, in partition: Int32? = nil) -> Location {
    // Evaluated before the client's feeds, which change later.
    let isComplete = isComplete
    let moved = moved.partitions(of: feed)
    if let number = partition ?? moved.union(client.partitions(of: feed.string)).min() {
      if let description = client.description(of: feed.string, in: number) {
        // Until its partition has been read to the end, a feed has old states.
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

  /// The standing of the workers' partitions, without others; `bootstrapping` until they are known.
  var standing: FeedStanding {
    let served = served()
    let followed = client.partitions.filter { served.served.contains($0.number) }
    guard served.isSettled, followed.count == served.served.count else { return .bootstrapping }
    return followed.map(\.standing).min() ?? .upToDate
  }

  /// Whether all feeds of this instance are known, including those on standby.
  private var isComplete: Bool {
    let served = served()
    let followed = client.partitions
    return served.isSettled && served.served.isSubset(of: followed.map(\.number))
      && followed.allSatisfy { $0.standing != .bootstrapping }
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

  /// Updates addresses. Those of other partitions are kept: during a rebalance, no member has them.
  func note(_ urls: [Int32: String]) { state.withLock { $0.urls.merge(urls) { $1 } } }

  /// The partitions with which a feed moved.
  func partitions(of feed: ByteText) -> Set<Int32> { state.withLock { $0.partitions[feed] ?? [] } }

  /// The address that serves a partition; nil if it is not known.
  func url(of partition: Int32) -> String? { state.withLock { $0.urls[partition] } }
}
