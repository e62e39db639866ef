import FeedClient
import HTTP
import Queues

/// The newest changesets of all feeds and open windows, for readers that reconnect. A limit in bytes bounds it: the oldest changesets
/// are dropped first.
struct ChangesetHistory {
  private let limit: Int
  private var kept: [ViewAddress: Queue<(number: Int, changeset: StreamedChangeset)>] = [:]
  private(set) var order = EvictionOrder()
  /// The number of changesets.
  private var count = 0
  /// The bytes of all changesets.
  private(set) var byteCount = 0

  init(limit: Int) { self.limit = limit }

  /// Adds a changeset, which must continue from the view's last one.
  mutating func append(_ changeset: StreamedChangeset, of view: ViewAddress) {
    guard changeset.byteCount <= limit else {
      // A reload does not continue from earlier changesets.
      return removeAll(of: view)
    }
    kept[view, default: Queue()].append((order.append(view), changeset))
    count += 1
    byteCount += changeset.byteCount
    while byteCount > limit, let oldest = order.removeFirst() { remove(oldest.view, number: oldest.number) }
  }

  /// Drops everything.
  mutating func removeAll() { self = ChangesetHistory(limit: limit) }

  /// Drops a view's changesets; the next one does not continue from them.
  mutating func removeAll(of view: ViewAddress) {
    guard let removed = kept.removeValue(forKey: view)?.all else { return }
    for kept in removed { byteCount -= kept.changeset.byteCount }
    count -= removed.count
    order.forgetGone(keeping: count) { view, number in kept[view]?.first?.number ?? .max <= number }
  }

  /// The changesets after a reader's version.
  ///
  /// - Returns: nil if they are not in the history.
  func changesets(of view: ViewAddress, after version: FeedVersion) -> [StreamedChangeset]? {
    guard let all = kept[view]?.all.map(\.changeset) else { return nil }
    if let first = all.firstIndex(where: { $0.continues(version) }) { return Array(all[first...]) }
    return all.last?.version == version ? [] : nil
  }

  /// Whether the feed is known to be deleted, and was not created again.
  func endsWithDeletion(_ feed: FeedAddress) -> Bool {
    kept[ViewAddress(feed)]?.last?.changeset.isDeletion == true
  }

  private mutating func remove(_ view: ViewAddress, number: Int) {
    guard kept[view]?.first?.number == number, let oldest = kept[view]?.removeFirst() else { return }
    byteCount -= oldest.changeset.byteCount
    count -= 1
    if kept[view]?.isEmpty == true { kept[view] = nil }
  }
}
