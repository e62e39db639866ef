/// An ordered list of elements in two versions at once: as published, and as it is now.
///
/// A counted B+ tree of `OrderEntry`: leaves of up to 128 entries, branches of up to 32 children,
/// with the number of entries of each order beside every child. Rank, select, insertion and
/// removal take O(log n) in either order. The leaf of each entry is kept in the element table,
/// which is passed in.
struct OrderTree {
  /// A leaf or a branch; nil in a tree without entries. Only the tree's operations change it, as what follows.
  var root: OrderNode?
  var firstLeaf: OrderNode?
  /// Elements in the published order.
  var publishedCount: Int32 = 0
  /// Elements in the current order.
  var currentCount: Int32 = 0
  /// Entries, ghosts and newcomers included.
  var entryCount: Int32 = 0

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

  /// Notes where an entry's element is found.
  @inline(__always)
  func locate(_ entry: OrderEntry, _ leaf: OrderNode, _ table: ElementTable) {
    if entry.isCurrent {
      table.elements[entry.handle.index].leaf = leaf
    } else {
      table.withChange(entry.handle) { $0.ghostLeaf = leaf }
    }
  }

  /// Changes the counts that the branches above a node have for it.
  func addToAncestors(of node: OrderNode, _ published: Int32, _ current: Int32) {
    if published == 0 && current == 0 { return }
    var child = node
    while let branch = child.parent {
      let slot = branch.slot(of: child)
      branch.publishedCounts[slot] += published
      branch.currentCounts[slot] += current
      child = branch
    }
  }

  /// Puts a node into a branch's slot, with its counts.
  static func adopt(_ node: OrderNode, _ branch: OrderNode, _ slot: Int) {
    assert(node.level + 1 == branch.level, "a child is one level below its branch")
    node.parent = branch
    let (published, current) = node.counts
    branch.children[slot] = node
    branch.publishedCounts[slot] = published
    branch.currentCounts[slot] = current
  }

  /// Moves the entries from `start` to the end of another leaf.
  func moveEntries(of leaf: OrderNode, from start: Int, to target: OrderNode, _ table: ElementTable) {
    target.entries.update(from: target.count, with: leaf.entries, start..<leaf.count)
    let moved = takeUp(leaf.count - start, target, table)
    leaf.count = start
    leaf.published -= moved.published
    leaf.current -= moved.current
  }

  /// Counts entries that were copied into a leaf's slots behind the others, and notes where their elements are found.
  ///
  /// - Returns: how many of them count in each order.
  func takeUp(_ count: Int, _ leaf: OrderNode, _ table: ElementTable) -> (published: Int32, current: Int32) {
    var published: Int32 = 0
    var current: Int32 = 0
    let entries = leaf.entries
    for index in leaf.count..<leaf.count + count {
      let entry = entries[index]
      published += entry.publishedCount
      current += entry.currentCount
      locate(entry, leaf, table)
    }
    leaf.count += count
    leaf.published += published
    leaf.current += current
    return (published, current)
  }
}
