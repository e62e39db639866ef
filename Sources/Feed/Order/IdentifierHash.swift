internal import CXxhash

/// Hashes of identifiers, for tables only: nothing that is published depends on them.
enum IdentifierHash {
  @inline(__always)
  static func of(_ id: ByteSpan) -> UInt32 {
    UInt32(truncatingIfNeeded: feedstore_xxh3(id.base, id.count))
  }
}
