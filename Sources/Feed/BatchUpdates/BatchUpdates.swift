/// A difference in the form that UIKit's `performBatchUpdates` needs: index paths, in stages.
///
/// Each stage is one call. The first has all deletes, inserts and moves, the second all reconfigures and reloads,
/// because UIKit cannot move and reload an item at once. UIKit also cannot move items into sections that are inserted,
/// out of sections that are deleted, or within sections that move. If a difference does that, its first stage becomes
/// three:
///
/// 1. Insert the sections that items move into, still empty.
/// 2. Delete, insert and move items.
/// 3. Delete, insert and move sections; inserted sections have their items.
///
/// With `NSDiffableDataSourceSnapshot`, none of this is needed. Use a changeset, or the difference of two snapshots,
/// like this:
///
/// | FeedStore | UIKit |
/// |---|---|
/// | the new ``Snapshot`` | `appendSections`, `appendItems(_:toSection:)`, with the identifiers in order |
/// | a `reconfigure` entry of an item | `reconfigureItems` |
/// | a `reload` entry of an item | `reloadItems` |
/// | a `reload` entry of a section | `reloadSections` |
/// | mode `reconfigure` or `diff` | `apply(_:animatingDifferences:)` |
/// | mode `reload` | `applySnapshotUsingReloadData` |
///
/// Deletes, inserts and moves follow from the identifiers, because item identifiers are unique in a feed.
public struct BatchUpdates: Sendable {
  /// The calls in their order; none if nothing changes.
  public private(set) var stages: [BatchStage] = []

  /// Creates the stages that turn one snapshot into another.
  ///
  /// - Parameters:
  ///   - difference: the difference from `old` to `new`, such as a changeset's.
  /// - Throws: ``SnapshotError/Code/mismatch`` if the difference does not lead from `old` to `new`.
  /// - Complexity: O(k log n) for k entries; O(n) if there are three stages of structure.
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
