import CXxhash

/// An open-addressing hash table from texts to handles. The caller owns the texts.
///
/// A slot holds the hash and the handle, so that a miss touches no other memory. Removal shifts followers
/// back, so that no markers need cleaning up.
///
/// No element is farther than `maxDistance` from its hash's slot, so neither a search nor an insertion visits
/// more slots than that, even for hostile texts. An element that would be farther makes the table grow; if
/// the table is nearly empty already, the collisions are not random, and the table chooses its own key.
/// Removals visit more slots only to move elements nearer to theirs: in total, no more than insertions.
struct HashIndex: ~Copyable {
  private(set) var slots: UnsafeMutablePointer<UInt64>
  private(set) var mask: Int
  private(set) var count = 0
  /// The table's own key; nil while it uses the process's. Chosen after too many collisions.
  private(set) var ownKey: HashKey?

  /// With random hashes and load 2/3, one of ten million elements is farther than 200 slots away.
  static let maxDistance = 256
  /// Shared by all empty tables, which allocate nothing.
  nonisolated(unsafe) private static let none: UnsafeMutablePointer<UInt64> = {
    let slot = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    slot.initialize(to: 0)
    return slot
  }()

  /// Whether the table takes half a megabyte or more.
  var isLarge: Bool { mask >= 1 << 16 }

  /// - Parameters:
  ///   - capacity: the number of elements with memory from the beginning.
  ///   - key: a key other than the process's, owned by the table; for tests.
  init(capacity: Int = 0, key: HashKey? = nil) {
    ownKey = key
    slots = HashIndex.none
    mask = 0
    guard capacity > 0 else { return }
    var size = 8
    while size < capacity * 2 { size *= 2 }
    slots = HashIndex.allocate(size)
    mask = size - 1
  }

  deinit {
    if mask > 0 { slots.deallocate() }
    ownKey?.release()
  }

  /// The handle of a text.
  ///
  /// - Parameters:
  ///   - hash: the text's `ByteHash`.
  ///   - textOf: the text of a handle.
  @inline(__always)
  func find(_ text: ByteSpan, _ hash: UInt32, textOf: (UInt32) -> ByteSpan) -> UInt32? {
    let hash = ownHash(text, hash)
    var at = Int(hash) & mask
    var distance = 0
    while true {
      let slot = slots[at]
      if slot == 0 { return nil }
      if UInt32(truncatingIfNeeded: slot >> 32) == hash {
        let handle = UInt32(truncatingIfNeeded: slot) &- 1
        if textOf(handle).hasSameBytes(as: text) { return handle }
      }
      distance += 1
      if distance > HashIndex.maxDistance { return nil }
      at = (at + 1) & mask
    }
  }

  /// Prefetches the memory of a search's first slot.
  @inline(__always)
  func prefetch(_ hash: UInt32) { feedstore_prefetch(slots + (Int(hash) & mask)) }

  /// The first handle with the hash; its text may differ, and nil does not mean that the text is absent.
  @inline(__always)
  func candidate(_ hash: UInt32) -> UInt32? {
    var at = Int(hash) & mask
    for _ in 0..<8 {
      let slot = slots[at]
      if slot == 0 { return nil }
      if UInt32(truncatingIfNeeded: slot >> 32) == hash { return UInt32(truncatingIfNeeded: slot) &- 1 }
      at = (at + 1) & mask
    }
    return nil
  }

  /// Adds the handle of a new text.
  mutating func insert(_ text: ByteSpan, _ hash: UInt32, _ handle: UInt32, textOf: (UInt32) -> ByteSpan) {
    if (count + 1) * 3 > (mask + 1) * 2 { rebuild(max(4, (mask + 1) * 2), textOf) }
    while !place(ownHash(text, hash), handle) { spread(textOf) }
    count += 1
  }

  /// Removes the handle of a text in the table.
  mutating func remove(_ text: ByteSpan, _ hash: UInt32, _ handle: UInt32) {
    let hash = ownHash(text, hash)
    let wanted = HashIndex.slot(hash, handle)
    var hole = Int(hash) & mask
    while slots[hole] != wanted { hole = (hole + 1) & mask }
    var at = hole
    while true {
      at = (at + 1) & mask
      let slot = slots[at]
      // An element farther from the hole belongs behind it.
      if slot == 0 || (at - hole) & mask > HashIndex.maxDistance { break }
      let home = Int(slot >> 32) & mask
      // The follower may fill the hole unless its home lies after the hole.
      if (at - home) & mask >= (at - hole) & mask {
        slots[hole] = slot
        hole = at
      }
    }
    slots[hole] = 0
    count -= 1
  }

  /// Removes everything; a table much larger than its last use releases its memory.
  mutating func removeAll() {
    ownKey?.release()
    ownKey = nil
    if mask > 1023, count * 8 < mask {
      slots.deallocate()
      slots = HashIndex.none
      mask = 0
    } else if mask > 0 {
      slots.update(repeating: 0, count: mask + 1)
    }
    count = 0
  }

  @inline(__always)
  private func ownHash(_ text: ByteSpan, _ hash: UInt32) -> UInt32 {
    ownKey == nil ? hash : hashedAgain(text)
  }

  @inline(never)
  private func hashedAgain(_ text: ByteSpan) -> UInt32 { ownKey?.hash(text) ?? 0 }

  private static func slot(_ hash: UInt32, _ handle: UInt32) -> UInt64 {
    UInt64(hash) << 32 | UInt64(handle &+ 1)
  }

  private static func allocate(_ size: Int) -> UnsafeMutablePointer<UInt64> {
    let slots = UnsafeMutablePointer<UInt64>.allocate(capacity: size)
    HugePages.prefer(slots, size * MemoryLayout<UInt64>.stride)
    slots.initialize(repeating: 0, count: size)
    return slots
  }

  /// - Returns: false if that would be too far from the hash's slot.
  @inline(__always)
  private func place(_ hash: UInt32, _ handle: UInt32) -> Bool {
    var at = Int(hash) & mask
    var distance = 0
    while slots[at] != 0 {
      distance += 1
      if distance > HashIndex.maxDistance { return false }
      at = (at + 1) & mask
    }
    slots[at] = HashIndex.slot(hash, handle)
    return true
  }

  /// Moves elements nearer to their hashes' slots.
  @inline(never)
  private mutating func spread(_ textOf: (UInt32) -> ByteSpan) {
    if HashIndex.isFilled(count, mask + 1) {
      rebuild((mask + 1) * 2, textOf)
    } else {
      rebuild(mask + 1, takingKey: true, textOf)
    }
  }

  /// Whether large distances are due to a full table, and not to colliding hashes.
  private static func isFilled(_ count: Int, _ size: Int) -> Bool { count * 4 >= size }

  /// Inserts all elements into new slots, more of them or with another key.
  @inline(never)
  private mutating func rebuild(_ size: Int, takingKey: Bool = false, _ textOf: (UInt32) -> ByteSpan) {
    let (old, oldMask) = (slots, mask)
    var size = size
    if takingKey { takeKey() }
    var hasNewKey = takingKey
    while true {
      slots = HashIndex.allocate(size)
      mask = size - 1
      let isComplete = (0...oldMask).allSatisfy { at in
        if old[at] == 0 { return true }
        let handle = UInt32(truncatingIfNeeded: old[at]) &- 1
        let hash = hasNewKey ? hashedAgain(textOf(handle)) : UInt32(truncatingIfNeeded: old[at] >> 32)
        return place(hash, handle)
      }
      if isComplete { break }
      slots.deallocate()
      if HashIndex.isFilled(count, size) {
        size *= 2
      } else {
        takeKey()
        hasNewKey = true
      }
    }
    if oldMask > 0 { old.deallocate() }
  }

  private mutating func takeKey() {
    ownKey?.release()
    ownKey = HashKey.random()
  }
}
