/// The changes of one call of `performBatchUpdates`.
///
/// In its closure, set the data source to ``snapshot``, then pass on the lists in the order in which they are declared
/// here. `delete…` and `from` count before the stage, everything else after it.
public struct BatchStage: Sendable {
  /// A section that stands elsewhere after the stage.
  public struct SectionMove: Sendable, Hashable {
    /// Its index before the stage.
    public var from: Int
    /// Its index after the stage.
    public var to: Int
  }

  /// An item that stands elsewhere after the stage.
  public struct ItemMove: Sendable, Hashable {
    /// Its place before the stage.
    public var from: ItemPath
    /// Its place after the stage.
    public var to: ItemPath
  }

  /// For `deleteSections`; their items go with them.
  public internal(set) var deletedSections: [Int] = []
  /// For `insertSections`; their items come with them.
  public internal(set) var insertedSections: [Int] = []
  /// For `moveSection(_:toSection:)`.
  public internal(set) var movedSections: [SectionMove] = []
  /// For `deleteItems(at:)`.
  public internal(set) var deletedItems: [ItemPath] = []
  /// For `insertItems(at:)`.
  public internal(set) var insertedItems: [ItemPath] = []
  /// For `moveItem(at:to:)`.
  public internal(set) var movedItems: [ItemMove] = []
  /// Sections whose data changed. UIKit has no call for this: reconfigure the views that show the data, such as
  /// headers, if they are visible.
  public internal(set) var reconfiguredSections: [Int] = []
  /// For `reconfigureItems(at:)`: the cell stays.
  public internal(set) var reconfiguredItems: [ItemPath] = []
  /// For `reloadSections`, which reloads their items too; these are not listed again.
  public internal(set) var reloadedSections: [Int] = []
  /// For `reloadItems(at:)`: the item gets another cell.
  public internal(set) var reloadedItems: [ItemPath] = []
  /// The content of the data source during and after the stage. It may be newer than what is on screen.
  public internal(set) var snapshot: Snapshot

  init(snapshot: Snapshot) { self.snapshot = snapshot }

  /// Whether there is nothing to do.
  public var isEmpty: Bool { !hasStructure && !hasContent }

  var hasStructure: Bool {
    !(deletedSections.isEmpty && insertedSections.isEmpty && movedSections.isEmpty && deletedItems.isEmpty
      && insertedItems.isEmpty && movedItems.isEmpty)
  }

  var hasContent: Bool {
    !(reconfiguredSections.isEmpty && reconfiguredItems.isEmpty && reloadedSections.isEmpty
      && reloadedItems.isEmpty)
  }
}
