/// A difference as UIKit's `performBatchUpdates` wants it: index paths, in stages.
///
/// Each stage is one call. There is one for what is deleted, inserted and moved, and one after it for what is
/// reconfigured and reloaded, as UIKit can not move and reload an item at once. Nor can it move items into
/// sections that are inserted, out of sections that are deleted, or within sections that move. Where a difference
/// does that, its first stage becomes three:
///
/// 1. The inserted sections that items move into, still empty.
/// 2. Items: deleted, inserted, moved.
/// 3. Sections: deleted, inserted with their items, moved.
///
/// With `NSDiffableDataSourceSnapshot` none of this is needed. From a changeset, or the difference of two
/// snapshots:
///
/// | here | there |
/// |---|---|
/// | the new ``Snapshot`` | `appendSections`, `appendItems(_:toSection:)`, of the identifiers in order |
/// | a `reconfigure` entry of an item | `reconfigureItems` |
/// | a `reload` entry of an item | `reloadItems` |
/// | a `reload` entry of a section | `reloadSections` |
/// | mode `reconfigure` or `diff` | `apply(_:animatingDifferences:)` |
/// | mode `reload` | `applySnapshotUsingReloadData` |
///
/// Deletes, inserts and moves then follow from the identifiers, which is why those of items are unique in a feed.
public struct BatchUpdates: Sendable {
  /// The calls in their order; none if nothing changes.
  public private(set) var stages: [BatchStage] = []

  /// What turns one snapshot into another.
  ///
  /// - Parameters:
  ///   - difference: what turns `old` into `new`, such as a changeset's.
  /// - Throws: ``SnapshotError/Code/mismatch`` if it does not.
  /// - Complexity: O(k log n) for k entries; O(n) where there are three stages of structure.
  public init(
    _ difference: SnapshotDifference,
    from old: Snapshot,
    to new: Snapshot
  ) throws(SnapshotError) {
    let planner = BatchPlanner(difference, from: old, to: new)
    let stages = try planner.structure() + [planner.content()]
    self.stages = stages.filter { !$0.isEmpty }
  }
}
