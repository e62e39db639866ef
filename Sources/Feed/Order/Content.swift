import Glibc

/// What an element holds: data, and an item's kind. Whoever keeps it owns its bytes and a use of its kind, and gives them
/// back with `FeedState.release`.
struct Content {
  /// The data in a block of its own; nil as long as nothing was set.
  private(set) var bytes: UnsafeMutablePointer<UInt8>?
  private(set) var dataCount: UInt32 = 0
  /// Tells most data apart without a look at the old bytes, which are in nobody's cache.
  private(set) var fingerprint: UInt32 = 0
  /// The number of an item's kind in the feed's `KindTable`; a section's is the empty one's.
  private(set) var kind = KindTable.empty

  /// Nothing.
  init() {}

  /// A copy of the data.
  ///
  /// - Parameters:
  ///   - kind: its number; taken over.
  ///   - blocks: where the memory comes from, if not from the allocator.
  init(copying data: ByteSpan, fingerprint: UInt32, kind: UInt32, blocks: BlockPool.Handle? = nil) {
    let block = BlockPool.block(data.count, from: blocks)
    memcpy(block, data.base, data.count)
    bytes = block
    dataCount = UInt32(data.count)
    self.fingerprint = fingerprint
    self.kind = kind
  }

  var data: ByteSpan { bytes.map { ByteSpan(UnsafePointer($0), Int(dataCount)) } ?? .empty }

  func hasSameData(as other: Content) -> Bool { hasSameData(as: other.data, fingerprint: other.fingerprint) }

  @inline(__always)
  func hasSameData(as other: ByteSpan, fingerprint: UInt32) -> Bool {
    self.fingerprint == fingerprint && data.hasSameBytes(as: other)
  }
}
