import Feed
import Synchronization

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

  /// Whether no feed is recorded as moved.
  var isEmpty: Bool { state.withLock(\.partitions.isEmpty) }

  /// Updates the addresses of partitions. Addresses of other partitions are kept: during a rebalance, no member has
  /// them.
  func note(_ urls: [Int32: String]) { state.withLock { $0.urls.merge(urls) { $1 } } }

  /// The partitions with which a feed moved.
  func partitions(of feed: ByteText) -> Set<Int32> { state.withLock { $0.partitions[feed] ?? [] } }

  /// The address that serves a partition; nil if it is not known.
  func url(of partition: Int32) -> String? { state.withLock { $0.urls[partition] } }
}
