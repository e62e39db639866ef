import Glibc

/// Owned bytes, at most 255, that mostly are few: 16 or less stand where this stands, and need no other look at memory.
///
/// To be read in place, as a copy would have an address of its own: it is the *first* member of what lies at a fixed address,
/// and is named by that address.
struct ShortBytes {
  /// The bytes if they fit; else the first word is the address of a block of them.
  private var storage: (UInt64, UInt64) = (0, 0)
  let count: UInt8

  private static let inlineCapacity = 16

  /// A copy of the bytes, or the address of one; complete once it is stored.
  init(copying bytes: ByteSpan) {
    count = UInt8(bytes.count)
    if bytes.count <= ShortBytes.inlineCapacity {
      withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: bytes.rawBuffer) }
    } else {
      storage.0 = UInt64(UInt(bitPattern: bytes.copied()))
    }
  }

  /// The bytes of what lies at an address; valid until it is moved or released.
  @inline(__always)
  static func span(at address: UnsafeRawPointer) -> ByteSpan {
    let bytes = address.assumingMemoryBound(to: ShortBytes.self)
    let count = Int(bytes.pointee.count)
    if count <= inlineCapacity { return ByteSpan(address.assumingMemoryBound(to: UInt8.self), count) }
    return ByteSpan(UnsafePointer(bytes.pointee.block), count)
  }

  /// Frees what it owns.
  func release() {
    if count > ShortBytes.inlineCapacity { free(block) }
  }

  private var block: UnsafeMutablePointer<UInt8> {
    guard let block = UnsafeMutablePointer<UInt8>(bitPattern: UInt(storage.0)) else {
      preconditionFailure("many bytes without a block")
    }
    return block
  }
}
