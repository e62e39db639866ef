/// An open-addressing hash table from hashes to handles. What a handle stands for is the
/// caller's: it is asked whether a candidate is the one.
///
/// A slot holds the hash and the handle, so that a miss touches no other memory. Removal shifts
/// followers back, so that there are no markers to clean up.
struct HashIndex: ~Copyable {
  private var slots: UnsafeMutablePointer<UInt64>
  private var mask: Int
  private(set) var count = 0

  /// Whether the table takes half a megabyte or more.
  var isLarge: Bool { mask >= 1 << 16 }

  init(capacity: Int = 8) {
    var size = 8
    while size < capacity * 2 { size *= 2 }
    slots = .allocate(capacity: size)
    slots.initialize(repeating: 0, count: size)
    mask = size - 1
  }

  deinit { slots.deallocate() }

  /// The handle with that hash for which `isMatch` holds.
  @inline(__always)
  func find(_ hash: UInt32, where isMatch: (UInt32) -> Bool) -> UInt32? {
    var at = Int(hash) & mask
    while true {
      let slot = slots[at]
      if slot == 0 { return nil }
      if UInt32(truncatingIfNeeded: slot >> 32) == hash {
        let handle = UInt32(truncatingIfNeeded: slot) &- 1
        if isMatch(handle) { return handle }
      }
      at = (at + 1) & mask
    }
  }

  /// Adds a handle that is not there.
  mutating func insert(_ hash: UInt32, _ handle: UInt32) {
    if (count + 1) * 3 > (mask + 1) * 2 { grow() }
    place(UInt64(hash) << 32 | UInt64(handle &+ 1))
    count += 1
  }

  /// Removes a handle that is there.
  mutating func remove(_ hash: UInt32, _ handle: UInt32) {
    let wanted = UInt64(hash) << 32 | UInt64(handle &+ 1)
    var hole = Int(hash) & mask
    while slots[hole] != wanted { hole = (hole + 1) & mask }
    var at = hole
    while true {
      at = (at + 1) & mask
      let slot = slots[at]
      if slot == 0 { break }
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

  /// Forgets everything; a table much larger than the last use shrinks.
  mutating func removeAll() {
    if mask > 1023, count * 8 < mask {
      slots.deallocate()
      mask = 7
      slots = .allocate(capacity: 8)
      slots.initialize(repeating: 0, count: 8)
    } else {
      slots.update(repeating: 0, count: mask + 1)
    }
    count = 0
  }

  private func place(_ slot: UInt64) {
    var at = Int(slot >> 32) & mask
    while slots[at] != 0 { at = (at + 1) & mask }
    slots[at] = slot
  }

  private mutating func grow() {
    let old = slots
    let oldCount = mask + 1
    slots = .allocate(capacity: oldCount * 2)
    slots.initialize(repeating: 0, count: oldCount * 2)
    mask = oldCount * 2 - 1
    for at in 0..<oldCount where old[at] != 0 { place(old[at]) }
    old.deallocate()
  }
}
