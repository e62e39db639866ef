/// The figures by which the planner chose between a difference and a reload.
public struct WeighedDifference: Sendable, Equatable {
  /// Entries of sections and items, other than `reconfigure`.
  public var weight: Int
  /// Items before the changeset, and after it.
  public var itemsBefore: Int
  public var itemsAfter: Int
  /// Items that are in both states and changed their kind.
  public var changedKinds: Int
  /// Bytes of the difference as one value.
  public var differenceBytes: Int
  /// Bytes of the reload as one value, with the reason `bytes`.
  public var reloadBytes: Int
  /// The thresholds that the figures were compared with.
  public var thresholds: PlannerThresholds

  /// The items that fractions count against: those before or after, whichever are more.
  public var items: Int { max(itemsBefore, itemsAfter) }

  public init(
    weight: Int,
    itemsBefore: Int,
    itemsAfter: Int,
    changedKinds: Int,
    differenceBytes: Int,
    reloadBytes: Int,
    thresholds: PlannerThresholds
  ) {
    self.weight = weight
    self.itemsBefore = itemsBefore
    self.itemsAfter = itemsAfter
    self.changedKinds = changedKinds
    self.differenceBytes = differenceBytes
    self.reloadBytes = reloadBytes
    self.thresholds = thresholds
  }
}
