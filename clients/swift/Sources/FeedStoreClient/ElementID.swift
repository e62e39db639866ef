/// The id of a feed, a section or an item: `FeedID`, `SectionID`, `ItemID`.
///
/// Ids are compared byte by byte, as the protocol demands. Swift's `String` is not: to it, `"é"` with one code point equals
/// `"é"` with two, so two items could become one.
public struct ElementID<Element>: Hashable, Sendable, ExpressibleByStringInterpolation,
  CustomStringConvertible
{
  public let rawValue: String

  public init(_ rawValue: String) { self.rawValue = rawValue }
  public init(stringLiteral value: String) { rawValue = value }

  public var description: String { rawValue }

  public static func == (one: Self, other: Self) -> Bool { haveSameBytes(one.rawValue, other.rawValue) }

  public func hash(into hasher: inout Hasher) {
    for byte in rawValue.utf8 { hasher.combine(byte) }
    hasher.combine(0xff as UInt8)
  }
}

public typealias FeedID = ElementID<Feed>
public typealias SectionID = ElementID<FeedSection>
public typealias ItemID = ElementID<FeedItem>

/// Content has changed if its bytes differ; `==` of strings compares what they mean.
func haveSameBytes(_ one: String, _ other: String) -> Bool {
  // Most texts are kept contiguously, so this is a comparison of memory.
  one.utf8.count == other.utf8.count && one.utf8.elementsEqual(other.utf8)
}
