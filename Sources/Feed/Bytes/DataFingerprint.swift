internal import CXxhash

/// Tells most data apart without a look at both.
///
/// Not for tables: it has no secret, so anyone can compute data of equal fingerprints. That costs a comparison of bytes,
/// which is what data of equal length would cost without fingerprints.
enum DataFingerprint {
  @inline(__always)
  static func of(_ bytes: ByteSpan) -> UInt32 {
    UInt32(truncatingIfNeeded: feedstore_xxh3(bytes.base, bytes.count))
  }
}
