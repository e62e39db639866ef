/// Steps through the current elements of a list; valid until the tree changes.
package struct CurrentCursor {
  private let tree: OrderTree
  private var leaf: OrderNode?
  private var index: Int
  /// Elements that are left to step to, so that ghosts behind the last one are not visited.
  private var remaining: Int32

  /// Before the first element.
  init(_ tree: OrderTree) {
    self.tree = tree
    let first = tree.select(current: .first)
    leaf = first?.leaf
    index = first?.index ?? 0
    remaining = tree.currentCount
  }

  /// After an entry of a tree.
  init(_ tree: OrderTree, after position: OrderTree.Position) {
    self.tree = tree
    leaf = position.leaf
    index = position.index + 1
    remaining = Int32.max
  }

  /// The next element, or nil at the end. O(log n) at most, whatever ghosts are before it.
  package mutating func peek() -> ElementHandle? {
    guard remaining > 0 else { return nil }
    while let node = leaf {
      if node.current == 0 {
        // Many more leaves of nothing but ghosts may follow, so they are not passed one by one.
        let next = tree.select(current: tree.ranks(OrderTree.Position(leaf: node, index: 0)).current)
        (leaf, index) = (next?.leaf, next?.index ?? 0)
        return next?.entry.handle
      }
      while index < node.count {
        let entry = node.entries[index]
        if entry.isCurrent { return entry.handle }
        index += 1
      }
      leaf = node.next
      index = 0
    }
    return nil
  }

  /// Goes past the element that `peek` returned.
  mutating func advance() {
    index += 1
    remaining -= 1
  }

  /// The next element, which the cursor goes past; nil at the end.
  package mutating func next() -> ElementHandle? {
    let handle = peek()
    if handle != nil { advance() }
    return handle
  }
}
