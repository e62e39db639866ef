internal import CXxhash

/// Hashes for tables, and for telling bytes apart without a look at both; nothing that is published depends on them.
enum ByteHash {
  @inline(__always)
  static func of(_ bytes: ByteSpan) -> UInt32 {
    UInt32(truncatingIfNeeded: feedstore_xxh3(bytes.base, bytes.count))
  }
}
