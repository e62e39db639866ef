/// A window's effects on the order of a feed's lists, which limit the moves in a changeset.
///
/// A list that was given completely has the minimum number of moves. Of another list, at most the elements placed by
/// single events may be listed. Elements that were deleted and recreated count as placed.
public struct OraclePlacements: Sendable, Equatable {
  /// Items and sections that single events placed, or that were deleted.
  public var items: Set<[UInt8]> = []
  public var sections: Set<[UInt8]> = []
  /// Sections whose list of items was given completely.
  public var replacedLists: Set<[UInt8]> = []
  /// Whether the list of sections was given completely.
  public var sectionListReplaced = false

  public init() {}
}
