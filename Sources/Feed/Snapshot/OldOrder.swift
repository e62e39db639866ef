/// A list of handles as another is compared with it: where each handle stands, and whether
/// the other list has it too.
struct OldOrder {
  /// By handle: its index, or -1. Spares a dictionary, as handles are small numbers.
  private var indexes: [Int32]
  private var isMatched: [Bool]

  init(_ handles: [ElementHandle]) {
    let count = (handles.lazy.map(\.index).max() ?? -1) + 1
    indexes = Array(repeating: -1, count: count)
    isMatched = Array(repeating: false, count: count)
    for (index, handle) in handles.enumerated() { indexes[handle.index] = Int32(index) }
  }

  /// Where a handle stands in its list, which now is known to be in the other list too.
  mutating func match(_ handle: ElementHandle) -> Int32 {
    isMatched[handle.index] = true
    return indexes[handle.index]
  }

  /// Where a handle stands in its list.
  func index(_ handle: ElementHandle) -> Int32 { indexes[handle.index] }

  /// Whether the other list has the handle's element too.
  func isMatched(_ handle: ElementHandle) -> Bool { isMatched[handle.index] }
}
