extension OrderTree {
  /// The position at which a new element becomes the `rank`-th in the current order.
  mutating func place(atCurrent rank: Rank) -> Position { select(current: rank) ?? endPosition() }

  /// Adds entries at the end: O(k) for k entries, and O(log n) for each leaf that takes them.
  mutating func append(_ entries: UnsafeBufferPointer<OrderEntry>, _ table: ElementTable) {
    if entryCount == 0 { return rebuild(entries, table) }
    var start = 0
    while start < entries.count {
      var leaf = endPosition().leaf
      if leaf.count == leaf.capacity {
        leaf =
          leaf.capacity < OrderNode.leafCapacity ? enlarge(leaf, table) : split(leaf, at: leaf.count, table)
      }
      let added = entries[start..<min(entries.count, start + leaf.capacity - leaf.count)]
      leaf.entries.update(from: leaf.count, with: UnsafeBufferPointer(rebasing: added))
      let growth = takeUp(added.count, leaf, table)
      entryCount += Int32(added.count)
      counts += growth
      addToAncestors(of: leaf, growth)
      leaf.checkLeaf()
      start = added.endIndex
    }
  }

  /// The position after the last entry.
  private mutating func endPosition() -> Position {
    guard var node = root else {
      let leaf = OrderNode.leaf(capacity: 8)
      root = leaf
      firstLeaf = leaf
      return Position(leaf: leaf, index: 0)
    }
    while !node.isLeaf { node = node.children[node.count - 1] }
    return Position(leaf: node, index: node.count)
  }

  /// Inserts an entry at a position, which becomes the entry's.
  mutating func insert(_ entry: OrderEntry, at position: inout Position, _ table: ElementTable) {
    var leaf = position.leaf
    if leaf.count == leaf.capacity {
      if leaf.capacity < OrderNode.leafCapacity {
        leaf = enlarge(leaf, table)
        position.leaf = leaf
      } else {
        let right = split(leaf, at: position.index, table)
        if position.index > leaf.count || (position.index == leaf.count && right.count == 0) {
          position = Position(leaf: right, index: position.index - leaf.count)
          leaf = right
        }
      }
    }
    leaf.entries.insert(entry, at: position.index, used: leaf.count)
    leaf.count += 1
    leaf.entryCounts += entry.counts
    entryCount += 1
    locate(entry, leaf, table)
    addToAncestors(of: leaf, entry.counts)
    counts += entry.counts
    leaf.checkLeaf()
  }

  // MARK: Leaves

  /// Doubles the capacity of a small tree's only leaf.
  private mutating func enlarge(_ leaf: OrderNode, _ table: ElementTable) -> OrderNode {
    let larger = OrderNode.leaf(capacity: min(leaf.capacity * 2, OrderNode.leafCapacity))
    moveEntries(of: leaf, from: 0, to: larger, table)
    if let parent = leaf.parent {
      parent.children[parent.slot(of: leaf)] = larger
      larger.parent = parent
    } else {
      root = larger
    }
    larger.previous = leaf.previous
    larger.next = leaf.next
    if let previous = leaf.previous { previous.next = larger } else { firstLeaf = larger }
    leaf.next?.previous = larger
    leaf.free()
    return larger
  }

  /// Splits a full leaf and returns the new right half. Appending leaves the left one full, so that a list
  /// that was built in order has full leaves.
  private mutating func split(_ leaf: OrderNode, at index: Int, _ table: ElementTable) -> OrderNode {
    let right = OrderNode.leaf(capacity: OrderNode.leafCapacity)
    let count = leaf.count
    let isAppend = index == count && leaf.next == nil
    moveEntries(of: leaf, from: isAppend ? count : count / 2, to: right, table)
    right.next = leaf.next
    right.previous = leaf
    leaf.next?.previous = right
    leaf.next = right
    insertSibling(right, after: leaf)
    return right
  }

  // MARK: Branches

  /// Adds a node that was split off to its sibling's parent.
  private mutating func insertSibling(_ node: OrderNode, after sibling: OrderNode) {
    guard var branch = sibling.parent else {
      let branch = OrderNode.branch(level: sibling.level + 1)
      OrderTree.adopt(sibling, branch, 0)
      OrderTree.adopt(node, branch, 1)
      branch.count = 2
      root = branch
      return
    }
    var slot = branch.slot(of: sibling) + 1
    if branch.count == OrderNode.branchCapacity {
      let right = splitBranch(branch, at: slot)
      let leftCount = branch.count
      if slot > leftCount {
        slot -= leftCount
        branch = right
      }
    }
    OrderTree.open(branch, slot)
    OrderTree.adopt(node, branch, slot)
    branch.childCounts[slot - 1] = sibling.counts
  }

  /// Makes room for another child at a slot.
  private static func open(_ branch: OrderNode, _ slot: Int) {
    let used = branch.count
    branch.children.insert(branch, at: slot, used: used)
    branch.childCounts.insert(OrderCounts(), at: slot, used: used)
    branch.count = used + 1
  }

  /// Splits a full branch. Its right part is added to its parent, so both counts must be right at once: the
  /// new node below took its entries from a sibling that the parent still counts in full.
  private mutating func splitBranch(_ branch: OrderNode, at slot: Int) -> OrderNode {
    let right = OrderNode.branch(level: branch.level)
    let count = branch.count
    let start = slot == count ? count - 1 : count / 2
    for (target, source) in (start..<count).enumerated() {
      let node = branch.children[source]
      right.children[target] = node
      right.childCounts[target] = branch.childCounts[source]
      node.parent = right
    }
    right.count = count - start
    branch.count = start
    insertSibling(right, after: branch)
    return right
  }
}
