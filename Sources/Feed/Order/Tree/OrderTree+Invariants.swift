extension OrderTree {
  /// Checks the whole structure; for tests. Traps with a message where it is broken.
  func checkInvariants(_ table: ElementTable) {
    guard let root else {
      precondition(publishedCount == 0 && currentCount == 0 && entryCount == 0 && firstLeaf == nil)
      return
    }
    var leaves: [OrderNode] = []
    let (published, current) = OrderTree.check(root, parent: nil, &leaves)
    precondition(published == publishedCount && current == currentCount, "the tree's counts are wrong")
    var leaf = firstLeaf
    var previous: OrderNode?
    for expected in leaves {
      precondition(leaf == expected && expected.previous == previous, "the list of leaves is broken")
      for index in 0..<expected.count {
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
      leaf = expected.next
    }
    precondition(leaf == nil, "the list of leaves goes on after the last leaf")
    precondition(leaves.reduce(0) { $0 + $1.count } == entryCount, "the number of entries is wrong")
  }

  /// - Returns: the entries below the node that count in each order.
  private static func check(
    _ node: OrderNode,
    parent: OrderNode?,
    _ leaves: inout [OrderNode]
  ) -> (published: Int32, current: Int32) {
    precondition(node.parent == parent, "a node's parent is wrong")
    precondition(parent.map { $0.level == node.level + 1 } ?? true, "a node's level is wrong")
    precondition(node.count > 0 && node.count <= node.capacity, "a node's count is wrong")
    var published: Int32 = 0
    var current: Int32 = 0
    if node.isLeaf {
      for index in 0..<node.count {
        precondition(node.entries[index].bits & 3 != 0, "an entry counts in no order")
        published += node.entries[index].publishedCount
        current += node.entries[index].currentCount
      }
      precondition(published == node.published && current == node.current, "a leaf's counts are wrong")
      leaves.append(node)
      return (published, current)
    }
    for slot in 0..<node.count {
      let child = check(node.children[slot], parent: node, &leaves)
      precondition(
        child.published == node.publishedCounts[slot] && child.current == node.currentCounts[slot],
        "a branch's counts are wrong"
      )
      published += child.published
      current += child.current
    }
    return (published, current)
  }
}
