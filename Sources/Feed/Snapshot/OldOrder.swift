/// One order of handles as another is compared with it: where each handle stands, and whether
/// the other order has it too.
struct OldOrder {
  /// By handle: its index, or -1. Spares a dictionary, as handles are small numbers.
  private var indexes: [Int32] = []
  private var isMatched: [Bool] = []

  /// Adds the handles of a list, in order.
  mutating func append(_ handles: [UInt32]) {
    guard let largest = handles.max() else { return }
    if Int(largest) >= indexes.count {
      let missing = Int(largest) + 1 - indexes.count
      indexes.append(contentsOf: repeatElement(-1, count: missing))
      isMatched.append(contentsOf: repeatElement(false, count: missing))
    }
    for (index, handle) in handles.enumerated() { indexes[Int(handle)] = Int32(index) }
  }

  /// Notes that the other order has a handle's element too.
  @inline(__always)
  mutating func noteMatch(_ handle: UInt32) { isMatched[Int(handle)] = true }

  /// Where a handle stands in its list, which now is known to be in the other order too.
  mutating func match(_ handle: UInt32) -> Int32 {
    isMatched[Int(handle)] = true
    return indexes[Int(handle)]
  }

  /// Where a handle stands in its list.
  func index(_ handle: UInt32) -> Int32 { indexes[Int(handle)] }

  /// Whether the other order has the handle's element too.
  func isMatched(_ handle: UInt32) -> Bool { isMatched[Int(handle)] }
}
