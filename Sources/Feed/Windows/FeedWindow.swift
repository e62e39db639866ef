/// The part of a feed that a reader sees.
public struct FeedWindow: Sendable, Hashable {
  /// The shown items of a section.
  public enum Extent: Sendable, Hashable {
    case all
    /// The first items, up to a number; 0 for the section's data alone.
    case first(Int)
    /// The items from a position on, up to a number.
    case slice(from: Int, count: Int)
  }

  /// The ids of the shown sections, in the feed's order; nil for all.
  package let sections: Set<ByteText>?
  /// The shown items of each section.
  public let extent: Extent

  /// - Parameter sections: the ids of the shown sections, in the feed's order; nil for all.
  /// - Precondition: a slice has exactly one section, and no number is negative.
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

  /// The first shown position.
  var from: Int { if case .slice(let from, _) = extent { from } else { 0 } }

  /// The position after the last shown one.
  var end: Int {
    switch extent {
    case .all: .max
    case .first(let count): count
    case .slice(let from, let count): from.addingReportingOverflow(count).overflow ? .max : from + count
    }
  }

  /// The shown positions of a section with this many items.
  func range(of count: Int) -> Range<Int> { min(from, count)..<min(end, count) }
}
