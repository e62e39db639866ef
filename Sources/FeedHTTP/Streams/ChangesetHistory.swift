import Feed
import FeedClient

/// The newest changesets of all feeds, for readers that reconnect. A limit in bytes bounds it: the oldest changesets
/// are dropped first.
struct ChangesetHistory {
  private let limit: Int
  private var kept: [FeedAddress: Queue<(number: Int, changeset: StreamedChangeset)>] = [:]
  private(set) var order = EvictionOrder()
  /// The number of changesets.
  private var count = 0
  /// The bytes of all changesets.
  private(set) var byteCount = 0

  init(limit: Int) { self.limit = limit }

  /// Adds a changeset, which must continue from the feed's last one.
  mutating func append(_ changeset: StreamedChangeset, of feed: FeedAddress) {
    guard changeset.byteCount <= limit else {
      // A reload does not continue from earlier changesets.
      return removeAll(of: feed)
    }
    kept[feed, default: Queue()].append((order.append(feed), changeset))
    count += 1
    byteCount += changeset.byteCount
    while byteCount > limit, let oldest = order.removeFirst() { remove(oldest.feed, number: oldest.number) }
  }

  /// Drops everything.
  mutating func removeAll() { self = ChangesetHistory(limit: limit) }

  /// Drops a feed's changesets; the next one does not continue from them.
  mutating func removeAll(of feed: FeedAddress) {
    guard let removed = kept.removeValue(forKey: feed)?.all else { return }
    for kept in removed { byteCount -= kept.changeset.byteCount }
    count -= removed.count
    order.forgetGone(keeping: count) { feed, number in kept[feed]?.first.map { $0.number <= number } ?? false
    }
  }

  /// The changesets after a reader's version.
  ///
  /// - Returns: nil if they are not in the history.
  func changesets(of feed: FeedAddress, after version: FeedVersion) -> [StreamedChangeset]? {
    guard let all = kept[feed]?.all.map(\.changeset) else { return nil }
    if let first = all.firstIndex(where: { $0.base == version }) { return Array(all[first...]) }
    return all.last?.version == version ? [] : nil
  }

  /// Whether the feed is known to be deleted, and was not created again.
  func endsWithDeletion(_ feed: FeedAddress) -> Bool { kept[feed]?.last?.changeset.isDeletion == true }

  private mutating func remove(_ feed: FeedAddress, number: Int) {
    guard kept[feed]?.first?.number == number, let oldest = kept[feed]?.removeFirst() else { return }
    byteCount -= oldest.changeset.byteCount
    count -= 1
    if kept[feed]?.isEmpty == true { kept[feed] = nil }
  }
}
