extension OrderTree {
  /// Lets an entry count in other orders.
  mutating func replace(_ position: Position, with entry: OrderEntry, _ table: ElementTable) {
    let old = position.entry
    let published = entry.publishedCount - old.publishedCount
    let current = entry.currentCount - old.currentCount
    let leaf = position.leaf
    leaf.entries[position.index] = entry
    leaf.published += published
    leaf.current += current
    locate(entry, leaf, table)
    addToAncestors(of: leaf, published, current)
    publishedCount += published
    currentCount += current
    leaf.checkLeaf()
  }
}
