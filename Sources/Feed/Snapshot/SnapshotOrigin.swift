/// What a snapshot's storage was copied from, and what was edited since.
///
/// Snapshots are mostly compared with what they were copied from. Then a look at what was edited is enough.
struct SnapshotOrigin {
  /// Names the content of storage. Edited storage that was copied takes another one, so that the same object means the same
  /// content.
  final class Version: Sendable {}

  private(set) var version: Version
  /// The items that were edited: inserted, moved, deleted, or given other content.
  private(set) var items: Set<ItemIdentifier> = []

  init(_ version: Version) { self.version = version }

  /// If more was edited, a comparison of everything takes no longer.
  private static func greatestCount(_ itemCount: Int) -> Int { 16 + itemCount / 32 }

  /// Notes what an edit that is not confirmed yet has changed.
  ///
  /// - Returns: false if this is of no use any more: too much was edited, or nothing has the content that was copied.
  mutating func note(_ state: FeedState) -> Bool {
    if isKnownUniquelyReferenced(&version) { return false }
    let greatest = SnapshotOrigin.greatestCount(state.totals.itemCount)
    guard items.count + state.items.changes.count <= greatest else { return false }
    for change in state.items.changes { items.insert(ItemIdentifier(state.items.id(change.handle))) }
    return true
  }
}
