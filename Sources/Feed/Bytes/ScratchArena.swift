/// Memory for decoding one record: a pointer moves to allocate, and all is released at once, by `reset`.
package final class ScratchArena {
  @exclusivity(unchecked) private var chunk: UnsafeMutablePointer<UInt8>
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private var used = 0
  @exclusivity(unchecked) private var filled: [UnsafeMutablePointer<UInt8>] = []
  private let initialCapacity: Int

  /// Whether each allocation has a separate block, so that the address sanitizer detects overruns.
  private static var isEachApart: Bool {
    #if SANITIZE_ADDRESS
      true
    #else
      false
    #endif
  }

  package init(capacity: Int = 16 << 10) {
    initialCapacity = capacity
    self.capacity = capacity
    chunk = .allocate(capacity: capacity)
  }

  deinit {
    chunk.deallocate()
    for old in filled { old.deallocate() }
  }

  @inline(__always)
  package func reset() {
    used = 0
    #if SANITIZE_ADDRESS
      // The sanitizer reports later reads of a record's memory.
      chunk.deallocate()
      capacity = 0
      chunk = .allocate(capacity: 0)
    #endif
    if !filled.isEmpty || capacity > initialCapacity { shrink() }
  }

  @inline(never)
  private func shrink() {
    for old in filled { old.deallocate() }
    filled.removeAll()
    if capacity > 1 << 20 {
      chunk.deallocate()
      capacity = initialCapacity
      chunk = .allocate(capacity: capacity)
    }
  }

  /// Memory for `count` bytes; `giveBack` returns the unused part.
  package func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    if used + count > capacity || Self.isEachApart {
      filled.append(chunk)
      capacity = Self.isEachApart ? count : max(capacity * 2, count)
      chunk = .allocate(capacity: capacity)
      used = 0
    }
    defer { used += count }
    return chunk + used
  }

  package func copy(_ bytes: ByteSpan) -> ByteSpan {
    let copy = allocate(bytes.count)
    copy.update(from: bytes.base, count: bytes.count)
    return ByteSpan(UnsafePointer(copy), bytes.count)
  }

  /// Returns the last `surplus` bytes of the latest allocation.
  func giveBack(_ surplus: Int) { used -= surplus }
}
