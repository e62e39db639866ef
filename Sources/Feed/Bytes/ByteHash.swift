/// The hashes of identifiers, kinds and names for tables: the same in the whole process, and other ones in the next.
///
/// Nothing that is written, published or told may depend on them, nor on the order of a table.
enum ByteHash {
  nonisolated(unsafe) private static let key = HashKey.random()

  @inline(__always)
  static func of(_ bytes: ByteSpan) -> UInt32 { key.hash(bytes) }
}
