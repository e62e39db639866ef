/// Names an item within a feed, whichever section it is in.
///
/// Identifiers have 1 to 255 bytes of UTF-8 and are compared by these bytes: two spellings that
/// Unicode calls equivalent are different identifiers, and `<` is the order of the bytes.
///
/// A string literal is an identifier too; one that is empty or too long is a mistake in the program
/// and stops it. Text from elsewhere goes through ``init(validating:)``.
public struct ItemIdentifier: Sendable, Hashable, Comparable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  let text: ByteText

  /// An identifier from text.
  ///
  /// - Throws: ``SnapshotError/Code/invalidIdentifier`` unless the text has 1 to 255 UTF-8 bytes.
  public init(validating string: String) throws(SnapshotError) {
    text = ByteText(string)
    guard (1...255).contains(text.count) else { throw .invalidIdentifier(text) }
  }

  /// An identifier from a literal, which must be valid.
  public init(stringLiteral: String) {
    text = ByteText(stringLiteral)
    precondition((1...255).contains(text.count), "an identifier has 1 to 255 UTF-8 bytes")
  }

  /// An identifier that a state holds, and that was therefore checked.
  init(_ bytes: ByteSpan) { text = ByteText(bytes) }

  /// The identifier as text. Compare identifiers and not these: strings compare differently.
  public var description: String { text.string }

  /// Whether the left one comes first in the order of the bytes.
  public static func < (left: ItemIdentifier, right: ItemIdentifier) -> Bool { left.text < right.text }
}
