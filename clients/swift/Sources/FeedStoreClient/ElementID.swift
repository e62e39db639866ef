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
    var text = rawValue
    text.withUTF8 { bytes in hasher.combine(bytes: UnsafeRawBufferPointer(bytes)) }
    hasher.combine(0xff as UInt8)
  }
}

public typealias FeedID = ElementID<Feed>
public typealias SectionID = ElementID<FeedSection>
public typealias ItemID = ElementID<FeedItem>

/// Content has changed if its bytes differ; `==` of strings compares what they mean.
func haveSameBytes(_ one: String, _ other: String) -> Bool {
  // Texts that are made of bytes are contiguous, so this does not copy.
  var (one, other) = (one, other)
  return one.withUTF8 { bytes in other.withUTF8 { otherBytes in bytes.elementsEqual(otherBytes) } }
}
