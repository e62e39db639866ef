/// An ordered list of elements in two versions at once: published and current.
///
/// A counted B+ tree of `OrderEntry`: leaves of up to 128 entries, branches of up to 32 children, with the
/// number of entries of each order beside every child. Rank, select, insertion and removal take O(log n) in
/// either order. The element table, which the caller passes, holds the leaf of each entry.
struct OrderTree {
  /// A leaf or a branch; nil in an empty tree. Only the tree's operations change these properties.
  var root: OrderNode?
  var firstLeaf: OrderNode?
  /// Elements in each order.
  var counts = OrderCounts()
  /// The number of entries, including ghosts and new ones.
  var entryCount: Int32 = 0

  /// Elements in the published order.
  var publishedCount: Int32 { counts.published }
  /// Elements in the current order.
  var currentCount: Int32 { counts.current }

  /// An entry's place; valid until the tree changes.
  struct Position {
    var leaf: OrderNode
    var index: Int
    var entry: OrderEntry { leaf.entries[index] }
  }

  /// Visits every entry in order.
  @inline(__always)
  func forEachEntry(_ body: (OrderEntry) -> Void) {
    var leaf = firstLeaf
    while let at = leaf {
      let entries = at.entries
      for index in 0..<at.count { body(entries[index]) }
      leaf = at.next
    }
  }

  // MARK: What the operations share

  /// Records the leaf of an entry's element.
  @inline(__always)
  func locate(_ entry: OrderEntry, _ leaf: OrderNode, _ table: ElementTable) {
    if entry.isCurrent {
      table.elements[entry.handle.index].leaf = leaf
    } else {
      table.withChange(entry.handle) { $0.ghostLeaf = leaf }
    }
  }

  /// Adds to the counts for a node in the branches above it.
  func addToAncestors(of node: OrderNode, _ counts: OrderCounts) {
    if counts == OrderCounts() { return }
    var child = node
    while let branch = child.parent {
      branch.childCounts[branch.slot(of: child)] += counts
      child = branch
    }
  }

  /// Puts a node into a branch's slot, with its counts.
  static func adopt(_ node: OrderNode, _ branch: OrderNode, _ slot: Int) {
    assert(node.level + 1 == branch.level, "a child is one level below its branch")
    node.parent = branch
    branch.children[slot] = node
    branch.childCounts[slot] = node.counts
  }

  /// Moves the entries from `start` to the end of another leaf.
  func moveEntries(of leaf: OrderNode, from start: Int, to target: OrderNode, _ table: ElementTable) {
    target.entries.update(from: target.count, with: leaf.entries, start..<leaf.count)
    leaf.entryCounts -= takeUp(leaf.count - start, target, table)
    leaf.count = start
  }

  /// Counts entries that were copied to the end of a leaf, and records the leaf of their elements.
  ///
  /// - Returns: the number of entries in each order.
  func takeUp(_ count: Int, _ leaf: OrderNode, _ table: ElementTable) -> OrderCounts {
    var added = OrderCounts()
    let entries = leaf.entries
    for index in leaf.count..<leaf.count + count {
      added += entries[index].counts
      locate(entries[index], leaf, table)
    }
    leaf.count += count
    leaf.entryCounts += added
    return added
  }
}

extension OrderTree {
  /// The position of an entry in its leaf.
  @inline(__always)
  func position(of entry: OrderEntry, in leaf: OrderNode) -> Position {
    let entries = leaf.entries
    let count = leaf.count
    var index = 0
    while index < count, entries[index] != entry { index += 1 }
    precondition(index < count, "an entry is not in its leaf")
    return Position(leaf: leaf, index: index)
  }

  /// The position of the element at `rank` in the current order; nil beyond the end.
  func select(current rank: Rank) -> Position? { select(rank, published: false) }

  /// The position of the element at `rank` in one of the two orders; nil beyond the end.
  @inline(__always)
  private func select(_ rank: Rank, published: Bool) -> Position? {
    guard rank.number < counts.number(published: published), var node = root else { return nil }
    var rest = rank.number
    while !node.isLeaf {
      let counts = node.childCounts
      var slot = 0
      while rest >= counts[slot].number(published: published) {
        rest -= counts[slot].number(published: published)
        slot += 1
      }
      node = node.children[slot]
    }
    let entries = node.entries
    var index = 0
    while true {
      let entry = entries[index]
      if published ? entry.isPublished : entry.isCurrent {
        if rest == 0 { return Position(leaf: node, index: index) }
        rest -= 1
      }
      index += 1
    }
  }

  /// The elements at existing positions in one order. O(log n), and the number of entries between them.
  func elements(_ positions: Range<Int>, published: Bool) -> [ElementHandle] {
    guard !positions.isEmpty, let first = select(Rank(positions.lowerBound), published: published) else {
      return []
    }
    var handles: [ElementHandle] = []
    handles.reserveCapacity(positions.count)
    var leaf = Optional(first.leaf)
    var index = first.index
    while let node = leaf, handles.count < positions.count {
      while index < node.count, handles.count < positions.count {
        let entry = node.entries[index]
        if published ? entry.isPublished : entry.isCurrent { handles.append(entry.handle) }
        index += 1
      }
      leaf = node.next
      index = 0
    }
    return handles
  }

  /// The current elements before and after the entry at a position.
  func currentNeighbours(around position: Position) -> (previous: ElementHandle?, next: ElementHandle?) {
    let entries = position.leaf.entries
    var previous: ElementHandle?
    var next: ElementHandle?
    var index = position.index - 1
    while index >= 0 {
      if entries[index].isCurrent {
        previous = entries[index].handle
        break
      }
      index -= 1
    }
    index = position.index + 1
    let count = position.leaf.count
    while index < count {
      if entries[index].isCurrent {
        next = entries[index].handle
        break
      }
      index += 1
    }
    if previous != nil && next != nil { return (previous, next) }
    let rank = ranks(position).current
    if previous == nil, rank > .first { previous = select(current: rank - 1)?.entry.handle }
    if next == nil { next = select(current: rank + position.entry.counts.current)?.entry.handle }
    return (previous, next)
  }
}

extension OrderTree {
  /// The numbers of published and of current elements before a position.
  func ranks(_ position: Position) -> (published: Rank, current: Rank) {
    var before = OrderCounts()
    let entries = position.leaf.entries
    for index in 0..<position.index { before += entries[index].counts }
    var child = position.leaf
    while let branch = child.parent {
      let counts = branch.childCounts
      for slot in 0..<branch.slot(of: child) { before += counts[slot] }
      child = branch
    }
    return (Rank(before.published), Rank(before.current))
  }
}

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
      counts += takeUp(size, leaf, table)
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

extension OrderTree {
  /// Changes the orders in which an entry counts.
  mutating func replace(_ position: Position, with entry: OrderEntry, _ table: ElementTable) {
    let growth = entry.counts - position.entry.counts
    let leaf = position.leaf
    leaf.entries[position.index] = entry
    leaf.entryCounts += growth
    locate(entry, leaf, table)
    addToAncestors(of: leaf, growth)
    counts += growth
    leaf.checkLeaf()
  }
}
