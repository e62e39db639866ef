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
  package let sections: Set<ByteText>?
  /// Which items of each section are shown.
  public let extent: Extent

  /// - Parameter sections: the ids of the sections that are shown, in the feed's order; nil for all.
  /// - Precondition: a slice is of exactly one section, and no number is negative.
  public init(sections: [String]? = nil, extent: Extent = .all) {
    self.sections = sections.map { Set($0.map { ByteText($0) }) }
    self.extent = extent
    let isPossible =
      switch extent {
      case .all: true
      case .first(let count): count >= 0
      case .slice(let from, let count): from >= 0 && count >= 0 && self.sections?.count == 1
      }
    precondition(isPossible, "a window shows no negative number of items, and a slice of one section")
  }

  /// The position from which items are shown.
  var from: Int { if case .slice(let from, _) = extent { from } else { 0 } }

  /// The position before which items are shown.
  var end: Int {
    switch extent {
    case .all: .max
    case .first(let count): count
    case .slice(let from, let count): from.addingReportingOverflow(count).overflow ? .max : from + count
    }
  }

  /// The positions that are shown of a section of so many items.
  func range(of count: Int) -> Range<Int> { min(from, count)..<min(end, count) }
}
