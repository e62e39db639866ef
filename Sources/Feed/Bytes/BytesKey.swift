/// An identifier as a key of a dictionary: bytes that the value owns, or that a record lends for a look-up.
package struct BytesKey: Hashable {
  package let bytes: ByteSpan

  package init(_ bytes: ByteSpan) { self.bytes = bytes }

  package static func == (one: BytesKey, other: BytesKey) -> Bool { one.bytes.hasSameBytes(as: other.bytes) }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes.rawBuffer) }
}
