/// Steps through the current elements of a list; valid until the tree changes.
struct CurrentCursor {
  private var leaf: LeafPointer?
  private var index: Int

  /// Before the first element.
  init(_ tree: OrderTree) {
    leaf = tree.firstLeaf
    index = 0
  }

  /// After an entry.
  init(after position: OrderTree.Position) {
    leaf = position.leaf
    index = position.index + 1
  }

  /// The next element, or nil at the end.
  mutating func peek() -> UInt32? {
    while let node = leaf {
      // A leaf of nothing but ghosts is passed over as a whole.
      while node.pointee.current > 0, index < Int(node.pointee.count) {
        let entry = node.entries[index]
        if entry.isCurrent { return entry.handle }
        index += 1
      }
      leaf = node.pointee.next
      index = 0
    }
    return nil
  }

  /// Goes past the element that `peek` returned.
  mutating func advance() { index += 1 }

  /// The next element, which the cursor goes past; nil at the end.
  mutating func next() -> UInt32? {
    let handle = peek()
    index += 1
    return handle
  }
}
