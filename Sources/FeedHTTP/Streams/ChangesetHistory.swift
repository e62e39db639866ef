import Feed
import FeedClient

/// The newest changesets of all feeds, for readers that come again: as many as a bound in bytes allows, the
/// oldest of all go first.
struct ChangesetHistory {
  private struct Kept {
    let number: Int
    let changeset: StreamedChangeset
  }

  private let limit: Int
  private var kept: [ByteText: Queue<Kept>] = [:]
  private(set) var order = EvictionOrder()
  /// How many are kept.
  private var count = 0
  /// Bytes of all that is kept.
  private(set) var byteCount = 0

  init(limit: Int) { self.limit = limit }

  /// Keeps a changeset, which follows on the feed's last.
  mutating func append(_ changeset: StreamedChangeset, of feed: ByteText) {
    guard changeset.byteCount <= limit else {
      // What is before it cannot be followed by it.
      return removeAll(of: feed)
    }
    kept[feed, default: Queue()].append(Kept(number: order.append(feed), changeset: changeset))
    count += 1
    byteCount += changeset.byteCount
    while byteCount > limit, let oldest = order.removeFirst() { remove(oldest.feed, number: oldest.number) }
  }

  /// Forgets everything.
  mutating func removeAll() { self = ChangesetHistory(limit: limit) }

  /// Forgets a feed's changesets: what comes next does not follow on them.
  mutating func removeAll(of feed: ByteText) {
    guard let removed = kept.removeValue(forKey: feed)?.all else { return }
    for kept in removed { byteCount -= kept.changeset.byteCount }
    count -= removed.count
    order.forgetGone(keeping: count) { feed, number in kept[feed]?.first.map { $0.number <= number } ?? false
    }
  }

  /// What a reader with a version has missed.
  ///
  /// - Returns: Nil if that is not known any more, or never was.
  func changesets(of feed: ByteText, after version: FeedVersion) -> [StreamedChangeset]? {
    guard let all = kept[feed]?.all.map(\.changeset) else { return nil }
    if let first = all.firstIndex(where: { $0.base == version }) { return Array(all[first...]) }
    return all.last?.version == version ? [] : nil
  }

  private mutating func remove(_ feed: ByteText, number: Int) {
    guard kept[feed]?.first?.number == number, let oldest = kept[feed]?.removeFirst() else { return }
    byteCount -= oldest.changeset.byteCount
    count -= 1
    if kept[feed]?.isEmpty == true { kept[feed] = nil }
  }
}
