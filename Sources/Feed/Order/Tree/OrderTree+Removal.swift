extension OrderTree {
  /// Removes an entry.
  mutating func remove(_ position: Position, _ table: ElementTable) {
    let entry = position.entry
    let leaf = position.leaf
    leaf.entries.remove(at: position.index, used: leaf.count)
    leaf.count -= 1
    leaf.entryCounts -= entry.counts
    entryCount -= 1
    addToAncestors(of: leaf, OrderCounts() - entry.counts)
    counts -= entry.counts
    leaf.checkLeaf()
    if leaf.count < leaf.capacity / 4 { shrink(leaf, table) }
  }

  /// Frees all nodes.
  mutating func removeAll() {
    if let root { OrderTree.free(root) }
    self = OrderTree()
  }

  private static func free(_ node: OrderNode) {
    if !node.isLeaf {
      for slot in 0..<node.count { free(node.children[slot]) }
    }
    node.free()
  }

  // MARK: Leaves

  /// Joins a leaf that is now small with a neighbour, if both fit into one.
  private mutating func shrink(_ leaf: OrderNode, _ table: ElementTable) {
    guard let parent = leaf.parent else {
      if leaf.count == 0 { removeAll() }
      return
    }
    let slot = parent.slot(of: leaf)
    let limit = OrderNode.leafCapacity * 3 / 4
    if slot > 0 {
      let left = parent.children[slot - 1]
      if left.count + leaf.count <= min(limit, left.capacity) {
        return join(leaf, into: left, parent, slot, table)
      }
    }
    if slot + 1 < parent.count {
      let right = parent.children[slot + 1]
      if right.count + leaf.count <= min(limit, leaf.capacity) {
        return join(right, into: leaf, parent, slot + 1, table)
      }
    }
    if leaf.count == 0 { unlink(leaf, parent, slot) }
  }

  /// Moves a leaf's entries to its left neighbour under the same parent, and frees it.
  private mutating func join(
    _ leaf: OrderNode,
    into left: OrderNode,
    _ parent: OrderNode,
    _ slot: Int,
    _ table: ElementTable
  ) {
    moveEntries(of: leaf, from: 0, to: left, table)
    parent.childCounts[slot - 1] = left.entryCounts
    left.checkLeaf()
    unlink(leaf, parent, slot)
  }

  /// Removes an empty leaf from the list of leaves and from its parent, and frees it.
  private mutating func unlink(_ leaf: OrderNode, _ parent: OrderNode, _ slot: Int) {
    if let previous = leaf.previous { previous.next = leaf.next } else { firstLeaf = leaf.next }
    leaf.next?.previous = leaf.previous
    leaf.free()
    removeChild(parent, slot)
  }

  // MARK: Branches

  private mutating func removeChild(_ branch: OrderNode, _ slot: Int) {
    let used = branch.count
    branch.children.remove(at: slot, used: used)
    branch.childCounts.remove(at: slot, used: used)
    branch.count = used - 1
    if branch.count == 0 {
      if let parent = branch.parent {
        let slot = parent.slot(of: branch)
        branch.free()
        removeChild(parent, slot)
      } else {
        branch.free()
        root = nil
        firstLeaf = nil
      }
      return
    }
    guard branch.count < OrderNode.branchCapacity / 4 else { return }
    if branch.parent == nil {
      collapseRoot()
    } else {
      joinBranch(branch)
    }
  }

  /// Replaces a root with one child by the child.
  private mutating func collapseRoot() {
    while let branch = root, !branch.isLeaf {
      guard branch.count == 1 else { return }
      let child = branch.children[0]
      child.parent = nil
      root = child
      branch.free()
    }
  }

  /// Joins a branch that is now small with its left or right neighbour, if both fit into one.
  private mutating func joinBranch(_ branch: OrderNode) {
    guard let parent = branch.parent else { return }
    let slot = parent.slot(of: branch)
    let limit = OrderNode.branchCapacity * 3 / 4
    func neighbour(_ slot: Int) -> OrderNode { parent.children[slot] }
    if slot > 0, neighbour(slot - 1).count + branch.count <= limit {
      joinBranch(branch, into: neighbour(slot - 1), parent, slot)
    } else if slot + 1 < parent.count, neighbour(slot + 1).count + branch.count <= limit {
      joinBranch(neighbour(slot + 1), into: branch, parent, slot + 1)
    }
  }

  private mutating func joinBranch(
    _ branch: OrderNode,
    into left: OrderNode,
    _ parent: OrderNode,
    _ slot: Int
  ) {
    for source in 0..<branch.count {
      OrderTree.adopt(branch.children[source], left, left.count)
      left.count += 1
    }
    parent.childCounts[slot - 1] += parent.childCounts[slot]
    branch.free()
    removeChild(parent, slot)
  }
}
