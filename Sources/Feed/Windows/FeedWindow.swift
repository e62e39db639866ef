/// The part of a feed that a reader is shown.
public struct FeedWindow: Sendable, Hashable {
  /// Which items of a section are shown.
  public enum Extent: Sendable, Hashable {
    case all
    /// So many items from the beginning; 0 for the section's data alone.
    case first(Int)
    /// So many items, without those before a position.
    case slice(from: Int, count: Int)
  }

  /// The ids of the sections that are shown, in the feed's order; nil for all.
  public let sections: Set<String>?
  /// Which items of each section are shown.
  public let extent: Extent

  /// - Precondition: a slice is of exactly one section, and no number is negative.
  public init(sections: Set<String>? = nil, extent: Extent = .all) {
    switch extent {
    case .all: break
    case .first(let count): precondition(count >= 0, "a window shows no negative number of items")
    case .slice(let from, let count):
      precondition(from >= 0 && count >= 0, "a window shows no negative number of items")
      precondition(sections?.count == 1, "a slice is of one section")
    }
    self.sections = sections
    self.extent = extent
  }
}
