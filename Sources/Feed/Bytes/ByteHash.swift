/// The hashes of identifiers, kinds and names for tables: the same in the whole process, and other ones in the next.
///
/// Nothing that is written, published or told may depend on them, nor on the order of a table.
enum ByteHash {
  /// Whoever hashes for each record keeps it: to get it from here looks each time whether it was made.
  nonisolated(unsafe) static let key = HashKey.random()

  @inline(__always)
  static func of(_ bytes: ByteSpan) -> UInt32 { key.hash(bytes) }
}
