/// A part of a feed: what is on a screen. Nothing else is sent.
public struct FeedWindow: Hashable, Sendable {
  /// The sections that are shown, in the feed's order; nil for all.
  public var sections: [SectionID]?
  /// How many items of each section, from its first; 0 for the data of sections alone.
  public var first: Int?
  /// Of exactly one section, the position of the first item and how many items.
  public var from: Int?
  public var count: Int?

  /// The whole feed.
  public static let all = FeedWindow()

  /// The first items of each section, or of some.
  public static func first(_ count: Int, of sections: [SectionID]? = nil) -> FeedWindow {
    FeedWindow(sections: sections, first: count)
  }

  /// Some items of one section from a position, which counts from 0.
  public static func items(of section: SectionID, from: Int, count: Int) -> FeedWindow {
    FeedWindow(sections: [section], from: from, count: count)
  }

  public init(sections: [SectionID]? = nil, first: Int? = nil, from: Int? = nil, count: Int? = nil) {
    (self.sections, self.first, self.from, self.count) = (sections, first, from, count)
  }

  /// The most items of a section that it shows.
  var capacity: Int? { count ?? first }

  /// Its members in a request.
  var members: String {
    let ids = sections.map {
      ",\"sections\":[\($0.map { JSONValue.quoted($0.rawValue) }.joined(separator: ","))]"
    }
    let numbers = [("first", first), ("from", from), ("count", count)].compactMap { name, value in
      value.map { ",\"\(name)\":\($0)" }
    }
    return (ids ?? "") + numbers.joined()
  }
}
