/// Text that is compared by its UTF-8 bytes.
///
/// Swift compares strings by canonical equivalence, so that "é" in one scalar equals "é" in two.
/// Identifiers are compared as they are, without normalisation (protocol, section 1.2).
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
    // No text's bytes are the beginning of another's with this at the end.
    hasher.combine(0xFF as UInt8)
  }

  /// The text as it stands in a message: quoted, and cut to a bound.
  var quotedForMessage: String { withBytes { $0.quotedForMessage() } }
}
