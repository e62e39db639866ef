extension OrderTree {
  /// The numbers of published and of current elements before a place.
  func ranks(_ position: Position) -> (published: Rank, current: Rank) {
    var published: Int32 = 0
    var current: Int32 = 0
    let entries = position.leaf.entries
    for index in 0..<position.index {
      published &+= entries[index].publishedCount
      current &+= entries[index].currentCount
    }
    var child = position.leaf
    while let branch = child.parent {
      let slot = branch.slot(of: child)
      let (publishedCounts, currentCounts) = (branch.publishedCounts, branch.currentCounts)
      for before in 0..<slot {
        published &+= publishedCounts[before]
        current &+= currentCounts[before]
      }
      child = branch
    }
    return (Rank(published), Rank(current))
  }
}
