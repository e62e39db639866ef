extension OrderTree {
  /// Rebuilds the tree from its entries in order: O(n).
  mutating func rebuild(_ entries: UnsafeBufferPointer<OrderEntry>, _ table: ElementTable) {
    removeAll()
    guard !entries.isEmpty else { return }
    var level = leaves(of: entries, table)
    entryCount = Int32(entries.count)
    while level.count > 1 { level = OrderTree.branches(over: level) }
    root = level[0]
  }

  /// The leaves of a tree, linked to each other and counted.
  private mutating func leaves(
    of entries: UnsafeBufferPointer<OrderEntry>,
    _ table: ElementTable
  ) -> [OrderNode] {
    // Leaves are filled to three quarters, so that the next insertions do not split every one.
    let fill = entries.count <= OrderNode.leafCapacity ? entries.count : OrderNode.leafCapacity * 3 / 4
    let leafCount = (entries.count + fill - 1) / fill
    var leaves: [OrderNode] = []
    leaves.reserveCapacity(leafCount)
    var previous: OrderNode?
    var start = 0
    for number in 0..<leafCount {
      let size = (entries.count - start) / (leafCount - number)
      let capacity = leafCount == 1 ? max(8, (size + 7) / 8 * 8) : OrderNode.leafCapacity
      let leaf = OrderNode.leaf(capacity: capacity)
      leaf.entries.update(from: 0, with: UnsafeBufferPointer(rebasing: entries[start..<start + size]))
      let added = takeUp(size, leaf, table)
      publishedCount += added.published
      currentCount += added.current
      leaf.previous = previous
      if let previous { previous.next = leaf } else { firstLeaf = leaf }
      leaf.checkLeaf()
      previous = leaf
      leaves.append(leaf)
      start += size
    }
    return leaves
  }

  /// One level of branches over nodes.
  private static func branches(over nodes: [OrderNode]) -> [OrderNode] {
    let fill = OrderNode.branchCapacity * 3 / 4
    let branchCount = (nodes.count + fill - 1) / fill
    var level: [OrderNode] = []
    level.reserveCapacity(branchCount)
    var start = 0
    for number in 0..<branchCount {
      let size = (nodes.count - start) / (branchCount - number)
      let branch = OrderNode.branch(level: nodes[start].level + 1)
      for slot in 0..<size { adopt(nodes[start + slot], branch, slot) }
      branch.count = size
      level.append(branch)
      start += size
    }
    return level
  }
}
