extension OrderTree {
  /// The place of an entry in a leaf that holds it.
  @inline(__always)
  func position(of entry: OrderEntry, in leaf: OrderNode) -> Position {
    let entries = leaf.entries
    let count = leaf.count
    var index = 0
    while index < count, entries[index] != entry { index += 1 }
    precondition(index < count, "an entry is not in its leaf")
    return Position(leaf: leaf, index: index)
  }

  /// The place of the element at `rank` in the current order; nil past the end.
  func select(current rank: Rank) -> Position? {
    guard rank.number < currentCount, var node = root else { return nil }
    var rest = rank.number
    while !node.isLeaf {
      let counts = node.currentCounts
      var slot = 0
      while rest >= counts[slot] {
        rest -= counts[slot]
        slot += 1
      }
      node = node.children[slot]
    }
    let entries = node.entries
    var index = 0
    while true {
      let entry = entries[index]
      if entry.isCurrent {
        if rest == 0 { return Position(leaf: node, index: index) }
        rest -= 1
      }
      index += 1
    }
  }

  /// The current elements before and after the entry at a place.
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
    if next == nil { next = select(current: rank + position.entry.currentCount)?.entry.handle }
    return (previous, next)
  }
}
