@testable public import Feed
@testable public import FeedStore

extension FeedStore {
  /// Checks all totals that are maintained incrementally.
  public func checkInvariants() {
    for directory in directories.values {
      for feed in directory.feeds {
        feed.checkInvariants()
        precondition(!feed.isStale || !stale.isEmpty, "an item does not show the present contents")
      }
      directory.checkInvariants()
    }
    precondition(
      share.bytes == directories.values.reduce(0) { $0 + $1.stateBytes },
      "state is not counted right"
    )
  }
}

extension FeedDirectory {
  /// Checks what is kept incrementally.
  public func checkInvariants() {
    var (existing, bytes, sections, items, settings, endCount) = (0, 0, 0, 0, 0, 0)
    for feed in feeds {
      existing += feed.exists ? 1 : 0
      bytes += feed.stateBytes
      sections += feed.sectionCount
      items += feed.itemCount
      settings += feed.count.settings
      endCount += Int(feed.state.totals.endCount)
    }
    precondition(ends.count == endCount, "items that end are not counted right")
    let scheduled = Set(
      ends.heap.filter { entry in
        feeds.contains { $0.state.number == entry.feed && $0.state.ends(entry.item, at: entry.time) }
      }.map { "\($0.feed) \($0.item)" }
    )
    let ending = feeds.reduce(0) { count, feed in
      let sections = feed.state.currentHandles(.sections)
      return sections.reduce(count) { count, section in
        let items = feed.state.currentHandles(.items(of: section))
        return count + items.count { feed.state.items[$0].content.hasEnd }
      }
    }
    precondition(scheduled.count == ending, "\(ending) items end, and \(scheduled.count) are scheduled")
    precondition(existingCount == existing, "feeds are not counted right")
    precondition(stateBytes == bytes, "state is not counted right")
    precondition(
      sectionCount == sections && itemCount == items && settingsCount == settings,
      "sections and items are not counted right"
    )
  }
}

extension PublishedFeed {
  /// Checks everything that is kept incrementally.
  public func checkInvariants() { state.checkInvariants() }
}

extension Replica {
  /// Checks everything that is kept incrementally.
  public func checkInvariants() { state.checkInvariants() }
}

extension Snapshot {
  /// Checks everything that is kept incrementally.
  public func checkInvariants() { storage.checkInvariants() }

  /// The current content of a state.
  package init(copying state: FeedState) { self.init(sharing: SnapshotStorage(state.copyOfCurrent())) }

  /// Whether both have the same sections and items in the same order with the same content.
  public func hasSameContent(as other: Snapshot) -> Bool {
    let version = PublishedVersion(epoch: [], revision: 1, through: [])
    return reload(of: "f", version: version, timeMilliseconds: 0)
      == other.reload(of: "f", version: version, timeMilliseconds: 0)
  }
}

extension PublishedFeed {
  /// The feed's content now, changes that are not published yet included.
  public func snapshot() -> Snapshot { Snapshot(copying: state) }
}

extension SnapshotStorage {
  /// Checks what reading relies on, and everything that is kept incrementally.
  fileprivate func checkInvariants() {
    state.checkInvariants()
    precondition(state.items.changes.isEmpty && state.sections.changes.isEmpty, "an edit was not settled")
    precondition(state.totals == state.publishedTotals, "the published totals are not the current ones")
    precondition(state.items.count == state.totals.itemCount, "a deleted item is still known")
    precondition(state.sections.count == state.sectionCount, "a deleted section is still known")
  }
}
