/// Names an item or a section within a feed; an item in any of its sections.
///
/// Identifiers have 1 to 255 bytes of UTF-8 and are compared by these bytes: two spellings that
/// Unicode calls equivalent are different identifiers, and `<` is the order of the bytes.
///
/// A string literal is an identifier too; an empty or too long one is a programming error and stops the
/// process. Use ``init(validating:)`` for other text.
public struct ElementIdentifier<Element>: Sendable, Hashable, Comparable, ExpressibleByStringLiteral,
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

  /// An identifier from a state, which is valid.
  init(_ bytes: ByteSpan) { text = ByteText(bytes) }

  /// The identifier as text. Compare identifiers, not these texts: strings compare differently.
  public var description: String { text.string }

  /// Whether the left one comes first in the order of the bytes.
  public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

/// Names an item.
public typealias ItemIdentifier = ElementIdentifier<Snapshot.Item>

/// Names a section.
public typealias SectionIdentifier = ElementIdentifier<Snapshot.Section>

/// The kind of an item, by which a client chooses how to render it: its cell type.
///
/// At most 255 bytes of UTF-8, compared as bytes. An item without a kind has the empty one. A string literal
/// is a kind too; a too long one is a programming error and stops the process.
public struct ItemKind: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  let text: ByteText

  /// A kind from a literal, which must be valid.
  public init(stringLiteral: String) {
    text = ByteText(stringLiteral)
    precondition(text.count <= 255, "a kind has at most 255 UTF-8 bytes")
  }

  /// A kind from a state, which is valid.
  init(_ bytes: ByteSpan) { text = ByteText(bytes) }

  /// The kind as text.
  public var description: String { text.string }
}

/// The data of an item or a section: the text of one JSON value.
///
/// White space between tokens is removed; member order, duplicate members, number spelling and escapes stay
/// the same. Compared by bytes: `1.0` and `1` are different data.
public struct JSONData: Sendable, Hashable, CustomStringConvertible {
  let text: ByteText

  /// The JSON value `null`, the data of an element without data.
  public static let null = JSONData(checked: ByteSpan("null" as StaticString))

  /// A JSON string: the text, quoted.
  public init(string: String) {
    let output = ByteWriter(capacity: string.utf8.count + 16)
    ByteText(string).withBytes { output.append(quoted: $0) }
    text = ByteText(output.written)
  }

  /// Data from a state, which is valid.
  init(checked bytes: ByteSpan) { text = ByteText(bytes) }

  /// The JSON text, without white space between tokens.
  public var description: String { text.string }
}

/// Text that is compared by its UTF-8 bytes.
///
/// Swift compares strings by canonical equivalence, so that "é" in one scalar equals "é" in two. Identifiers
/// are compared without normalisation (protocol, section 1.2).
package struct ByteText: Sendable, Hashable, Comparable {
  package let string: String

  package init(_ string: String) {
    var string = string
    string.makeContiguousUTF8()
    self.string = string
  }

  package init(_ bytes: ByteSpan) { string = bytes.text }

  var count: Int { string.utf8.count }

  /// Calls the body with the bytes, which are valid until it returns.
  @inline(__always)
  package func withBytes<Result>(_ body: (ByteSpan) -> Result) -> Result {
    let result = string.utf8.withContiguousStorageIfAvailable { body(ByteSpan(UnsafeRawBufferPointer($0))) }
    if let result { return result }
    return Array(string.utf8).withUnsafeBytes { body(ByteSpan($0)) }
  }

  package static func == (left: ByteText, right: ByteText) -> Bool {
    left.withBytes { left in right.withBytes { left.hasSameBytes(as: $0) } }
  }

  package static func < (left: ByteText, right: ByteText) -> Bool {
    left.withBytes { left in right.withBytes { left.precedes($0) } }
  }

  package func hash(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: $0.rawBuffer) }
    // This byte occurs in no text, so that no text's bytes are a prefix of another's.
    hasher.combine(0xFF as UInt8)
  }

  /// The text for a message: quoted, and cut to a bound.
  var quotedForMessage: String { withBytes { $0.quotedForMessage() } }
}
