import Feed
import Synchronization

/// Feeds that were served here and are another instance's now, as many as a bound allows.
final class MovedFeeds: Sendable {
  private struct State {
    var partitions: [ByteText: Int32] = [:]
    var urls: [Int32: String] = [:]
  }

  /// Feeds; of more it is not known that they moved.
  private let limit: Int
  private let state = Mutex(State())

  init(limit: Int = 100_000) { self.limit = limit }

  /// Notes that feeds went with their partitions.
  func add(_ feeds: [(feed: ByteText, partition: Int32)]) {
    state.withLock { state in
      for (feed, partition) in feeds where state.partitions.count < limit {
        state.partitions[feed] = partition
      }
    }
  }

  /// Forgets the feeds of partitions that came back.
  func remove(_ partitions: Set<Int32>) {
    guard !partitions.isEmpty else { return }
    state.withLock { state in
      state.partitions = state.partitions.filter { !partitions.contains($0.value) }
      for partition in partitions { state.urls[partition] = nil }
    }
  }

  /// Whether no feed went.
  var isEmpty: Bool { state.withLock(\.partitions.isEmpty) }

  /// Notes where partitions are served now. What was known of others stays: in a rebalance nobody has them.
  func note(_ urls: [Int32: String]) { state.withLock { $0.urls.merge(urls) { $1 } } }

  /// The partition that a feed went with; nil if it did not.
  func partition(of feed: ByteText) -> Int32? { state.withLock { $0.partitions[feed] } }

  /// Where a partition is served; nil if that is not known.
  func url(of partition: Int32) -> String? { state.withLock { $0.urls[partition] } }
}
