/// One order of handles as another is compared with it: where each handle stands, and whether
/// the other order has it too.
struct OldOrder {
  /// By handle: its index, or -1. Spares a dictionary, as handles are small numbers.
  private var indexes: [Int32] = []
  private var isMatched: [Bool] = []

  /// Adds the handles of a list, in order.
  mutating func append(_ handles: [ElementHandle]) {
    guard let largest = handles.lazy.map(\.index).max() else { return }
    if largest >= indexes.count {
      let missing = largest + 1 - indexes.count
      indexes.append(contentsOf: repeatElement(-1, count: missing))
      isMatched.append(contentsOf: repeatElement(false, count: missing))
    }
    for (index, handle) in handles.enumerated() { indexes[handle.index] = Int32(index) }
  }

  /// Notes that the other order has a handle's element too.
  @inline(__always)
  mutating func noteMatch(_ handle: ElementHandle) { isMatched[handle.index] = true }

  /// Where a handle stands in its list, which now is known to be in the other order too.
  mutating func match(_ handle: ElementHandle) -> Int32 {
    isMatched[handle.index] = true
    return indexes[handle.index]
  }

  /// Where a handle stands in its list.
  func index(_ handle: ElementHandle) -> Int32 { indexes[handle.index] }

  /// Whether the other order has the handle's element too.
  func isMatched(_ handle: ElementHandle) -> Bool { isMatched[handle.index] }
}
