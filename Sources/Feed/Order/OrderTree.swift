import Glibc

/// An ordered list of elements in two versions at once: as published, and as it is now.
///
/// A counted B+ tree of `OrderEntry`: leaves of up to 128 entries, branches of up to 32 children,
/// with the number of entries of each order beside every child. Rank, select, insertion and
/// removal take O(log n) in either order. The leaf of each entry is kept in the element table,
/// which is passed in.
struct OrderTree {
  private var root: UnsafeMutableRawPointer?
  private var rootHoldsEntries = true
  private(set) var firstLeaf: LeafPointer?
  /// Elements in the published order.
  private(set) var publishedCount: Int32 = 0
  /// Elements in the current order.
  private(set) var currentCount: Int32 = 0
  /// Entries, ghosts and newcomers included.
  private(set) var entryCount: Int32 = 0

  /// An entry's place; valid until the tree changes.
  struct Position {
    var leaf: LeafPointer
    var index: Int
    var entry: OrderEntry { leaf.entries[index] }
  }

  // MARK: Looking

  /// The place of an entry in a leaf that holds it.
  @inline(__always)
  func position(of entry: OrderEntry, in leaf: LeafPointer) -> Position {
    let entries = leaf.entries
    let count = Int(leaf.pointee.count)
    var index = 0
    while index < count, entries[index] != entry { index += 1 }
    precondition(index < count, "an entry is not in its leaf")
    return Position(leaf: leaf, index: index)
  }

  /// The numbers of published and of current elements before a place.
  func ranks(_ position: Position) -> (published: Int32, current: Int32) {
    var published: Int32 = 0
    var current: Int32 = 0
    let entries = position.leaf.entries
    for index in 0..<position.index {
      published &+= entries[index].publishedCount
      current &+= entries[index].currentCount
    }
    var child = UnsafeMutableRawPointer(position.leaf)
    var parent = position.leaf.pointee.parent
    while let branch = parent {
      let slot = branch.slot(of: child)
      for before in 0..<slot {
        published &+= branch.published[before]
        current &+= branch.current[before]
      }
      child = UnsafeMutableRawPointer(branch)
      parent = branch.pointee.parent
    }
    return (published, current)
  }

  /// The place of the element at `rank` in the current order; nil past the end.
  func select(current rank: Int32) -> Position? {
    guard rank < currentCount, var node = root else { return nil }
    var rest = rank
    if !rootHoldsEntries {
      var branch = node.assumingMemoryBound(to: OrderBranch.self)
      while true {
        var slot = 0
        while rest >= branch.current[slot] {
          rest -= branch.current[slot]
          slot += 1
        }
        node = branch.children[slot]
        if branch.pointee.holdsLeaves { break }
        branch = node.assumingMemoryBound(to: OrderBranch.self)
      }
    }
    let leaf = node.assumingMemoryBound(to: OrderLeaf.self)
    var index = 0
    while true {
      let entry = leaf.entries[index]
      if entry.isCurrent {
        if rest == 0 { return Position(leaf: leaf, index: index) }
        rest -= 1
      }
      index += 1
    }
  }

  /// The current elements before and after the entry at a place.
  func currentNeighbours(around position: Position) -> (previous: UInt32?, next: UInt32?) {
    let entries = position.leaf.entries
    var previous: UInt32?
    var next: UInt32?
    var index = position.index - 1
    while index >= 0 {
      if entries[index].isCurrent {
        previous = entries[index].handle
        break
      }
      index -= 1
    }
    index = position.index + 1
    let count = Int(position.leaf.pointee.count)
    while index < count {
      if entries[index].isCurrent {
        next = entries[index].handle
        break
      }
      index += 1
    }
    if previous != nil && next != nil { return (previous, next) }
    let rank = ranks(position).current
    if previous == nil, rank > 0 { previous = select(current: rank - 1)?.entry.handle }
    if next == nil { next = select(current: rank + position.entry.currentCount)?.entry.handle }
    return (previous, next)
  }

  /// Visits every entry in order.
  @inline(__always)
  func forEachEntry(_ body: (OrderEntry) -> Void) {
    var leaf = firstLeaf
    while let at = leaf {
      for index in 0..<Int(at.pointee.count) { body(at.entries[index]) }
      leaf = at.pointee.next
    }
  }

  // MARK: Changing

  /// Inserts an element into the current order as the `rank`-th, and returns its place.
  mutating func insert(_ entry: OrderEntry, atCurrent rank: Int32, _ table: ElementTable) -> Position {
    var position: Position
    if let found = select(current: rank) {
      position = found
    } else {
      position = endPosition()
    }
    insert(entry, at: &position, table)
    return position
  }

  /// The place after the last entry.
  private mutating func endPosition() -> Position {
    guard var node = root else {
      let leaf = LeafPointer.make(capacity: 8)
      root = UnsafeMutableRawPointer(leaf)
      rootHoldsEntries = true
      firstLeaf = leaf
      return Position(leaf: leaf, index: 0)
    }
    if !rootHoldsEntries {
      var branch = node.assumingMemoryBound(to: OrderBranch.self)
      while true {
        node = branch.children[Int(branch.pointee.count) - 1]
        if branch.pointee.holdsLeaves { break }
        branch = node.assumingMemoryBound(to: OrderBranch.self)
      }
    }
    let leaf = node.assumingMemoryBound(to: OrderLeaf.self)
    return Position(leaf: leaf, index: Int(leaf.pointee.count))
  }

  private mutating func insert(_ entry: OrderEntry, at position: inout Position, _ table: ElementTable) {
    var leaf = position.leaf
    if leaf.pointee.count == leaf.pointee.capacity {
      if leaf.pointee.capacity < OrderLeaf.fullCapacity {
        leaf = enlarge(leaf, table)
        position.leaf = leaf
      } else {
        let right = split(leaf, at: position.index, table)
        if position.index > Int(leaf.pointee.count)
          || (position.index == Int(leaf.pointee.count) && right.pointee.count == 0)
        {
          position = Position(leaf: right, index: position.index - Int(leaf.pointee.count))
          leaf = right
        }
      }
    }
    let entries = leaf.entries
    let tail = Int(leaf.pointee.count) - position.index
    (entries + position.index + 1).update(from: entries + position.index, count: tail)
    entries[position.index] = entry
    leaf.pointee.count += 1
    leaf.pointee.published += entry.publishedCount
    leaf.pointee.current += entry.currentCount
    entryCount += 1
    locate(entry, leaf, table)
    addToAncestors(
      UnsafeMutableRawPointer(leaf),
      leaf.pointee.parent,
      entry.publishedCount,
      entry.currentCount
    )
    publishedCount += entry.publishedCount
    currentCount += entry.currentCount
  }

  /// Lets an entry count in other orders.
  mutating func replace(_ position: Position, with entry: OrderEntry, _ table: ElementTable) {
    let old = position.entry
    let published = entry.publishedCount - old.publishedCount
    let current = entry.currentCount - old.currentCount
    let leaf = position.leaf
    leaf.entries[position.index] = entry
    leaf.pointee.published += published
    leaf.pointee.current += current
    locate(entry, leaf, table)
    addToAncestors(UnsafeMutableRawPointer(leaf), leaf.pointee.parent, published, current)
    publishedCount += published
    currentCount += current
  }

  /// Removes an entry.
  mutating func remove(_ position: Position, _ table: ElementTable) {
    let entry = position.entry
    let leaf = position.leaf
    let entries = leaf.entries
    let tail = Int(leaf.pointee.count) - position.index - 1
    (entries + position.index).update(from: entries + position.index + 1, count: tail)
    leaf.pointee.count -= 1
    leaf.pointee.published -= entry.publishedCount
    leaf.pointee.current -= entry.currentCount
    entryCount -= 1
    addToAncestors(
      UnsafeMutableRawPointer(leaf),
      leaf.pointee.parent,
      -entry.publishedCount,
      -entry.currentCount
    )
    publishedCount -= entry.publishedCount
    currentCount -= entry.currentCount
    if leaf.pointee.count < leaf.pointee.capacity / 4 { shrink(leaf, table) }
  }

  /// Frees all nodes.
  mutating func removeAll() {
    if let root { OrderTree.free(root, isLeaf: rootHoldsEntries) }
    self = OrderTree()
  }

  private static func free(_ node: UnsafeMutableRawPointer, isLeaf: Bool) {
    if !isLeaf {
      let branch = node.assumingMemoryBound(to: OrderBranch.self)
      for slot in 0..<Int(branch.pointee.count) {
        free(branch.children[slot], isLeaf: branch.pointee.holdsLeaves)
      }
    }
    Glibc.free(node)
  }

  /// Makes the tree anew from its entries in order: O(n).
  mutating func rebuild(_ entries: UnsafeBufferPointer<OrderEntry>, _ table: ElementTable) {
    removeAll()
    guard !entries.isEmpty else { return }
    // Leaves are filled to three quarters, so that the next insertions do not split every one.
    let fill =
      entries.count <= Int(OrderLeaf.fullCapacity) ? entries.count : Int(OrderLeaf.fullCapacity) * 3 / 4
    let leafCount = (entries.count + fill - 1) / fill
    var level: [UnsafeMutableRawPointer] = []
    level.reserveCapacity(leafCount)
    var previous: LeafPointer?
    var start = 0
    for number in 0..<leafCount {
      let size = (entries.count - start) / (leafCount - number)
      let capacity = leafCount == 1 ? max(8, Int32((size + 7) / 8 * 8)) : OrderLeaf.fullCapacity
      let leaf = LeafPointer.make(capacity: capacity)
      leaf.entries.update(from: entries.baseAddress! + start, count: size)
      leaf.pointee.count = Int32(size)
      for index in 0..<size {
        let entry = leaf.entries[index]
        leaf.pointee.published += entry.publishedCount
        leaf.pointee.current += entry.currentCount
        locate(entry, leaf, table)
      }
      publishedCount += leaf.pointee.published
      currentCount += leaf.pointee.current
      leaf.pointee.previous = previous
      if let previous { previous.pointee.next = leaf } else { firstLeaf = leaf }
      previous = leaf
      level.append(UnsafeMutableRawPointer(leaf))
      start += size
    }
    entryCount = Int32(entries.count)
    var holdsLeaves = true
    while level.count > 1 {
      level = OrderTree.branches(over: level, holdsLeaves: holdsLeaves)
      holdsLeaves = false
    }
    root = level[0]
    rootHoldsEntries = leafCount == 1
  }

  /// One level of branches over nodes.
  private static func branches(
    over nodes: [UnsafeMutableRawPointer],
    holdsLeaves: Bool
  ) -> [UnsafeMutableRawPointer] {
    let fill = Int(OrderBranch.capacity) * 3 / 4
    let branchCount = (nodes.count + fill - 1) / fill
    var level: [UnsafeMutableRawPointer] = []
    level.reserveCapacity(branchCount)
    var start = 0
    for number in 0..<branchCount {
      let size = (nodes.count - start) / (branchCount - number)
      let branch = BranchPointer.make(holdsLeaves: holdsLeaves)
      for slot in 0..<size { adopt(nodes[start + slot], branch, slot) }
      branch.pointee.count = Int32(size)
      level.append(UnsafeMutableRawPointer(branch))
      start += size
    }
    return level
  }

  // MARK: Nodes

  /// Notes where an entry's element is found.
  @inline(__always)
  private func locate(_ entry: OrderEntry, _ leaf: LeafPointer, _ table: ElementTable) {
    if entry.isCurrent {
      table.elements[Int(entry.handle)].leaf = leaf
    } else {
      table.withChange(entry.handle) { $0.ghostLeaf = leaf }
    }
  }

  private func addToAncestors(
    _ node: UnsafeMutableRawPointer,
    _ parent: BranchPointer?,
    _ published: Int32,
    _ current: Int32
  ) {
    if published == 0 && current == 0 { return }
    var child = node
    var parent = parent
    while let branch = parent {
      let slot = branch.slot(of: child)
      branch.published[slot] += published
      branch.current[slot] += current
      child = UnsafeMutableRawPointer(branch)
      parent = branch.pointee.parent
    }
  }

  private static func counts(
    _ node: UnsafeMutableRawPointer,
    isLeaf: Bool
  ) -> (published: Int32, current: Int32) {
    if isLeaf {
      let leaf = node.assumingMemoryBound(to: OrderLeaf.self)
      return (leaf.pointee.published, leaf.pointee.current)
    }
    let branch = node.assumingMemoryBound(to: OrderBranch.self)
    var published: Int32 = 0
    var current: Int32 = 0
    for slot in 0..<Int(branch.pointee.count) {
      published += branch.published[slot]
      current += branch.current[slot]
    }
    return (published, current)
  }

  /// Puts a node into a branch's slot, with its counts.
  private static func adopt(_ node: UnsafeMutableRawPointer, _ branch: BranchPointer, _ slot: Int) {
    let isLeaf = branch.pointee.holdsLeaves
    if isLeaf {
      node.assumingMemoryBound(to: OrderLeaf.self).pointee.parent = branch
    } else {
      node.assumingMemoryBound(to: OrderBranch.self).pointee.parent = branch
    }
    let (published, current) = counts(node, isLeaf: isLeaf)
    branch.children[slot] = node
    branch.published[slot] = published
    branch.current[slot] = current
  }

  /// Gives the only leaf of a small tree twice the room.
  private mutating func enlarge(_ leaf: LeafPointer, _ table: ElementTable) -> LeafPointer {
    let larger = LeafPointer.make(capacity: min(leaf.pointee.capacity * 2, OrderLeaf.fullCapacity))
    moveEntries(of: leaf, from: 0, to: larger, table)
    let old = UnsafeMutableRawPointer(leaf)
    if let parent = leaf.pointee.parent {
      parent.children[parent.slot(of: old)] = UnsafeMutableRawPointer(larger)
      larger.pointee.parent = parent
    } else {
      root = UnsafeMutableRawPointer(larger)
    }
    larger.pointee.previous = leaf.pointee.previous
    larger.pointee.next = leaf.pointee.next
    if let previous = leaf.pointee.previous { previous.pointee.next = larger } else { firstLeaf = larger }
    leaf.pointee.next?.pointee.previous = larger
    Glibc.free(leaf)
    return larger
  }

  /// Moves the entries from `start` to the end of another leaf.
  private func moveEntries(
    of leaf: LeafPointer,
    from start: Int,
    to target: LeafPointer,
    _ table: ElementTable
  ) {
    let moved = Int(leaf.pointee.count) - start
    let offset = Int(target.pointee.count)
    (target.entries + offset).update(from: leaf.entries + start, count: moved)
    var published: Int32 = 0
    var current: Int32 = 0
    for index in offset..<offset + moved {
      let entry = target.entries[index]
      published += entry.publishedCount
      current += entry.currentCount
      locate(entry, target, table)
    }
    leaf.pointee.count = Int32(start)
    leaf.pointee.published -= published
    leaf.pointee.current -= current
    target.pointee.count += Int32(moved)
    target.pointee.published += published
    target.pointee.current += current
  }

  /// Splits a full leaf and returns the new right half. Appending leaves the left one full, so
  /// that a list built from front to back has full leaves.
  private mutating func split(_ leaf: LeafPointer, at index: Int, _ table: ElementTable) -> LeafPointer {
    let right = LeafPointer.make(capacity: OrderLeaf.fullCapacity)
    let count = Int(leaf.pointee.count)
    let isAppend = index == count && leaf.pointee.next == nil
    moveEntries(of: leaf, from: isAppend ? count : count / 2, to: right, table)
    right.pointee.next = leaf.pointee.next
    right.pointee.previous = leaf
    leaf.pointee.next?.pointee.previous = right
    leaf.pointee.next = right
    insertSibling(
      UnsafeMutableRawPointer(right),
      after: UnsafeMutableRawPointer(leaf),
      leaf.pointee.parent,
      isLeaf: true
    )
    return right
  }

  /// Enters a node that was split off into the parent of the node it came from.
  private mutating func insertSibling(
    _ node: UnsafeMutableRawPointer,
    after sibling: UnsafeMutableRawPointer,
    _ parent: BranchPointer?,
    isLeaf: Bool
  ) {
    guard var branch = parent else {
      let branch = BranchPointer.make(holdsLeaves: isLeaf)
      OrderTree.adopt(sibling, branch, 0)
      OrderTree.adopt(node, branch, 1)
      branch.pointee.count = 2
      root = UnsafeMutableRawPointer(branch)
      rootHoldsEntries = false
      return
    }
    var slot = branch.slot(of: sibling) + 1
    if branch.pointee.count == OrderBranch.capacity {
      let right = splitBranch(branch, at: slot)
      let leftCount = Int(branch.pointee.count)
      if slot > leftCount {
        slot -= leftCount
        branch = right
      }
    }
    OrderTree.open(branch, slot)
    OrderTree.adopt(node, branch, slot)
    let siblingCounts = OrderTree.counts(sibling, isLeaf: isLeaf)
    branch.published[slot - 1] = siblingCounts.published
    branch.current[slot - 1] = siblingCounts.current
  }

  /// Makes room for one more child at a slot.
  private static func open(_ branch: BranchPointer, _ slot: Int) {
    let tail = Int(branch.pointee.count) - slot
    (branch.children + slot + 1).update(from: branch.children + slot, count: tail)
    (branch.published + slot + 1).update(from: branch.published + slot, count: tail)
    (branch.current + slot + 1).update(from: branch.current + slot, count: tail)
    branch.pointee.count += 1
  }

  /// Splits a full branch. Its right part is entered into its parent, so the counts of both must
  /// be right at once: the node that is being inserted below has taken its entries from a sibling
  /// whose counts its parent still holds in full.
  private mutating func splitBranch(_ branch: BranchPointer, at slot: Int) -> BranchPointer {
    let right = BranchPointer.make(holdsLeaves: branch.pointee.holdsLeaves)
    let count = Int(branch.pointee.count)
    let start = slot == count ? count - 1 : count / 2
    for (target, source) in (start..<count).enumerated() {
      let node = branch.children[source]
      right.children[target] = node
      right.published[target] = branch.published[source]
      right.current[target] = branch.current[source]
      if branch.pointee.holdsLeaves {
        node.assumingMemoryBound(to: OrderLeaf.self).pointee.parent = right
      } else {
        node.assumingMemoryBound(to: OrderBranch.self).pointee.parent = right
      }
    }
    right.pointee.count = Int32(count - start)
    branch.pointee.count = Int32(start)
    insertSibling(
      UnsafeMutableRawPointer(right),
      after: UnsafeMutableRawPointer(branch),
      branch.pointee.parent,
      isLeaf: false
    )
    return right
  }

  /// Joins a leaf that has become small with a neighbour, if both fit into one.
  private mutating func shrink(_ leaf: LeafPointer, _ table: ElementTable) {
    guard let parent = leaf.pointee.parent else {
      if leaf.pointee.count == 0 { removeAll() }
      return
    }
    let slot = parent.slot(of: UnsafeMutableRawPointer(leaf))
    let limit = OrderLeaf.fullCapacity * 3 / 4
    if slot > 0 {
      let left = parent.children[slot - 1].assumingMemoryBound(to: OrderLeaf.self)
      if left.pointee.count + leaf.pointee.count <= min(limit, left.pointee.capacity) {
        return join(leaf, into: left, parent, slot, table)
      }
    }
    if slot + 1 < Int(parent.pointee.count) {
      let right = parent.children[slot + 1].assumingMemoryBound(to: OrderLeaf.self)
      if right.pointee.count + leaf.pointee.count <= min(limit, leaf.pointee.capacity) {
        return join(right, into: leaf, parent, slot + 1, table)
      }
    }
    if leaf.pointee.count == 0 { unlink(leaf, parent, slot) }
  }

  /// Moves a leaf's entries to its left neighbour under the same parent, and frees it.
  private mutating func join(
    _ leaf: LeafPointer,
    into left: LeafPointer,
    _ parent: BranchPointer,
    _ slot: Int,
    _ table: ElementTable
  ) {
    moveEntries(of: leaf, from: 0, to: left, table)
    parent.published[slot - 1] = left.pointee.published
    parent.current[slot - 1] = left.pointee.current
    unlink(leaf, parent, slot)
  }

  /// Takes an empty leaf out of the list of leaves and out of its parent, and frees it.
  private mutating func unlink(_ leaf: LeafPointer, _ parent: BranchPointer, _ slot: Int) {
    if let previous = leaf.pointee.previous {
      previous.pointee.next = leaf.pointee.next
    } else {
      firstLeaf = leaf.pointee.next
    }
    leaf.pointee.next?.pointee.previous = leaf.pointee.previous
    Glibc.free(leaf)
    removeChild(parent, slot)
  }

  private mutating func removeChild(_ branch: BranchPointer, _ slot: Int) {
    let tail = Int(branch.pointee.count) - slot - 1
    (branch.children + slot).update(from: branch.children + slot + 1, count: tail)
    (branch.published + slot).update(from: branch.published + slot + 1, count: tail)
    (branch.current + slot).update(from: branch.current + slot + 1, count: tail)
    branch.pointee.count -= 1
    if branch.pointee.count == 0 {
      if let parent = branch.pointee.parent {
        let slot = parent.slot(of: UnsafeMutableRawPointer(branch))
        Glibc.free(branch)
        removeChild(parent, slot)
      } else {
        Glibc.free(branch)
        root = nil
        rootHoldsEntries = true
        firstLeaf = nil
      }
      return
    }
    guard branch.pointee.count < OrderBranch.capacity / 4 else { return }
    if branch.pointee.parent == nil {
      collapseRoot()
    } else {
      joinBranch(branch)
    }
  }

  /// A root with one child gives way to it.
  private mutating func collapseRoot() {
    while let node = root, !rootHoldsEntries {
      let branch = node.assumingMemoryBound(to: OrderBranch.self)
      guard branch.pointee.count == 1 else { return }
      let child = branch.children[0]
      if branch.pointee.holdsLeaves {
        child.assumingMemoryBound(to: OrderLeaf.self).pointee.parent = nil
        rootHoldsEntries = true
      } else {
        child.assumingMemoryBound(to: OrderBranch.self).pointee.parent = nil
      }
      root = child
      Glibc.free(branch)
    }
  }

  /// Joins a branch that has become small with its left or right neighbour, if both fit into one.
  private mutating func joinBranch(_ branch: BranchPointer) {
    guard let parent = branch.pointee.parent else { return }
    let slot = parent.slot(of: UnsafeMutableRawPointer(branch))
    let limit = OrderBranch.capacity * 3 / 4
    func neighbour(_ slot: Int) -> BranchPointer {
      parent.children[slot].assumingMemoryBound(to: OrderBranch.self)
    }
    if slot > 0, neighbour(slot - 1).pointee.count + branch.pointee.count <= limit {
      joinBranch(branch, into: neighbour(slot - 1), parent, slot)
    } else if slot + 1 < Int(parent.pointee.count),
      neighbour(slot + 1).pointee.count + branch.pointee.count <= limit
    {
      joinBranch(neighbour(slot + 1), into: branch, parent, slot + 1)
    }
  }

  private mutating func joinBranch(
    _ branch: BranchPointer,
    into left: BranchPointer,
    _ parent: BranchPointer,
    _ slot: Int
  ) {
    for source in 0..<Int(branch.pointee.count) {
      OrderTree.adopt(branch.children[source], left, Int(left.pointee.count))
      left.pointee.count += 1
    }
    parent.published[slot - 1] += parent.published[slot]
    parent.current[slot - 1] += parent.current[slot]
    Glibc.free(branch)
    removeChild(parent, slot)
  }

  // MARK: Invariants

  /// Checks the whole structure; for tests. Traps with a message where it is broken.
  func checkInvariants(_ table: ElementTable) {
    guard let root else {
      precondition(publishedCount == 0 && currentCount == 0 && entryCount == 0 && firstLeaf == nil)
      return
    }
    var leaves: [LeafPointer] = []
    let (published, current) = OrderTree.check(root, isLeaf: rootHoldsEntries, parent: nil, &leaves)
    precondition(published == publishedCount && current == currentCount, "the tree's counts are wrong")
    var leaf = firstLeaf
    var previous: LeafPointer?
    for expected in leaves {
      precondition(leaf == expected && expected.pointee.previous == previous, "the list of leaves is broken")
      for index in 0..<Int(expected.pointee.count) {
        let entry = expected.entries[index]
        if entry.isCurrent {
          precondition(table[entry.handle].leaf == expected, "an element does not know its leaf")
        } else {
          precondition(
            table.withChange(entry.handle) { $0.ghostLeaf } == expected,
            "a ghost's leaf is not known"
          )
        }
      }
      previous = expected
      leaf = expected.pointee.next
    }
    precondition(leaf == nil, "the list of leaves goes on after the last leaf")
    precondition(leaves.reduce(0) { $0 + $1.pointee.count } == entryCount, "the number of entries is wrong")
  }

  private static func check(
    _ node: UnsafeMutableRawPointer,
    isLeaf: Bool,
    parent: BranchPointer?,
    _ leaves: inout [LeafPointer]
  ) -> (Int32, Int32) {
    if isLeaf {
      let leaf = node.assumingMemoryBound(to: OrderLeaf.self)
      precondition(leaf.pointee.parent == parent, "a leaf's parent is wrong")
      precondition(
        leaf.pointee.count > 0 && leaf.pointee.count <= leaf.pointee.capacity,
        "a leaf's count is wrong"
      )
      var published: Int32 = 0
      var current: Int32 = 0
      for index in 0..<Int(leaf.pointee.count) {
        precondition(leaf.entries[index].bits & 3 != 0, "an entry counts in no order")
        published += leaf.entries[index].publishedCount
        current += leaf.entries[index].currentCount
      }
      precondition(
        published == leaf.pointee.published && current == leaf.pointee.current,
        "a leaf's counts are wrong"
      )
      leaves.append(leaf)
      return (published, current)
    }
    let branch = node.assumingMemoryBound(to: OrderBranch.self)
    precondition(branch.pointee.parent == parent, "a branch's parent is wrong")
    precondition(
      branch.pointee.count > 0 && branch.pointee.count <= OrderBranch.capacity,
      "a branch's count is wrong"
    )
    var sums: (Int32, Int32) = (0, 0)
    for slot in 0..<Int(branch.pointee.count) {
      let (published, current) = check(
        branch.children[slot],
        isLeaf: branch.pointee.holdsLeaves,
        parent: branch,
        &leaves
      )
      precondition(
        published == branch.published[slot] && current == branch.current[slot],
        "a branch's counts are wrong"
      )
      sums.0 += published
      sums.1 += current
    }
    return sums
  }
}
