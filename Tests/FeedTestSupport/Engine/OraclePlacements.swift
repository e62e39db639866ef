/// What a window did to the order of a feed's lists: it bounds the moves a changeset may list.
///
/// A list that was given as a whole has the fewest moves possible; of another list at most those
/// may be listed that events placed one by one. What was deleted and made again counts as placed.
public struct OraclePlacements: Sendable, Equatable {
  /// Items and sections that single events placed, or that were deleted.
  public var items: Set<[UInt8]> = []
  public var sections: Set<[UInt8]> = []
  /// Sections whose list of items was given as a whole.
  public var replacedLists: Set<[UInt8]> = []
  /// The list of sections was given as a whole.
  public var sectionListReplaced = false

  public init() {}
}
