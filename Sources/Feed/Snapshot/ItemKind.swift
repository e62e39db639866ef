/// What a client renders an item with: its cell type.
///
/// At most 255 bytes of UTF-8, compared as bytes. An item without a kind has the empty one. A string
/// literal is a kind too; one that is too long is a mistake in the program and stops it.
public struct ItemKind: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  let text: ByteText

  /// A kind from text.
  ///
  /// - Throws: ``SnapshotError/Code/invalidKind`` if the text has more than 255 UTF-8 bytes.
  public init(validating string: String) throws(SnapshotError) {
    text = ByteText(string)
    guard text.count <= 255 else { throw .invalidKind(text) }
  }

  /// A kind from a literal, which must be valid.
  public init(stringLiteral: String) {
    text = ByteText(stringLiteral)
    precondition(text.count <= 255, "a kind has at most 255 UTF-8 bytes")
  }

  /// A kind that a state holds, and that was therefore checked.
  init(_ bytes: ByteSpan) { text = ByteText(bytes) }

  /// The kind as text.
  public var description: String { text.string }
}
