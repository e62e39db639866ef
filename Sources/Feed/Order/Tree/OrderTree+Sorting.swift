extension OrderTree {
  /// How many elements of a sorted list come before a place now.
  ///
  /// - Parameters:
  ///   - start: a leaf at or before the place; nil for the first.
  ///   - isBefore: whether an element comes before the place. If one does, all before it do.
  /// - Returns: also how many leaves are between the start and the place.
  func currentRank(
    from start: OrderNode?,
    where isBefore: (ElementHandle) -> Bool
  ) -> (rank: Rank, passedLeaves: Int) {
    guard var leaf = start ?? firstLeaf else { return (.first, 0) }
    var passed = 0
    while let next = leaf.next, leaf.lastCurrent.map(isBefore) ?? true {
      leaf = next
      passed += 1
    }
    return (ranks(Position(leaf: leaf, index: leaf.firstSlot(notBefore: isBefore))).current, passed)
  }

  /// Visits the first current element of each leaf that has one, in order.
  func forEachLeaf(_ body: (ElementHandle) -> Void) {
    var leaf = firstLeaf
    while let node = leaf {
      node.firstCurrent.map(body)
      leaf = node.next
    }
  }
}

extension OrderNode {
  /// The first element of a leaf that counts now.
  fileprivate var firstCurrent: ElementHandle? {
    (0..<count).first { entries[$0].isCurrent }.map { entries[$0].handle }
  }

  /// The last element of a leaf that counts now.
  fileprivate var lastCurrent: ElementHandle? {
    (0..<count).last { entries[$0].isCurrent }.map { entries[$0].handle }
  }

  /// The slot of the first entry of a leaf that counts now and does not come before a place; `count` if all do.
  fileprivate func firstSlot(notBefore isBefore: (ElementHandle) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      // What is deleted is in no order: the next one that is not decides.
      guard let slot = (middle..<high).first(where: { entries[$0].isCurrent }) else {
        high = middle
        continue
      }
      if isBefore(entries[slot].handle) { low = slot + 1 } else { high = middle }
    }
    return low
  }
}
