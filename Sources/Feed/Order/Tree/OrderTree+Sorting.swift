extension OrderTree {
  /// Finds a position in a sorted list that is not empty.
  ///
  /// - Parameters:
  ///   - start: a leaf at or before the position.
  ///   - isBefore: whether an element precedes the position; true for all elements up to some one.
  ///   - prefetch: loads the values that an element is compared by, which are mostly in no cache.
  /// - Returns: also the number of leaves between the start and the position.
  @inline(__always)
  func place(
    from start: OrderNode,
    where isBefore: (ElementHandle) -> Bool,
    prefetch: (ElementHandle) -> Void
  ) -> (position: Position, passedLeaves: Int) {
    var leaf = start
    var passed = 0
    leaf.prefetchSteps(in: 0..<leaf.count, prefetch)
    while let next = leaf.next, leaf.lastCurrent.map(isBefore) ?? true {
      leaf = next
      passed += 1
      leaf.prefetchSteps(in: 0..<leaf.count, prefetch)
    }
    return (Position(leaf: leaf, index: leaf.firstSlot(notBefore: isBefore, prefetch)), passed)
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
  /// The first current element of a leaf.
  fileprivate var firstCurrent: ElementHandle? {
    (0..<count).first { entries[$0].isCurrent }.map { entries[$0].handle }
  }

  /// The last current element of a leaf.
  fileprivate var lastCurrent: ElementHandle? {
    (0..<count).last { entries[$0].isCurrent }.map { entries[$0].handle }
  }

  /// A search first visits slots at this distance.
  private static let searchStep = 8

  /// Prefetches the elements that a search of these slots visits first, all at once.
  @inline(__always)
  fileprivate func prefetchSteps(in slots: Range<Int>, _ prefetch: (ElementHandle) -> Void) {
    let step = slots.count > Self.searchStep ? Self.searchStep : 1
    for slot in stride(from: slots.lowerBound, to: slots.upperBound, by: step) {
      prefetch(entries[slot].handle)
    }
    if let last = slots.last { prefetch(entries[last].handle) }
  }

  /// The slot of a leaf's first current entry not before a position, or of a ghost before it, or `count`.
  @inline(__always)
  fileprivate func firstSlot(
    notBefore isBefore: (ElementHandle) -> Bool,
    _ prefetch: (ElementHandle) -> Void
  ) -> Int {
    var (low, high) = (0, count)
    func narrow(_ middle: Int) {
      // Ghosts are not ordered: the next current entry decides.
      guard let slot = (middle..<high).first(where: { entries[$0].isCurrent }) else {
        high = middle
        return
      }
      if isBefore(entries[slot].handle) { low = slot + 1 } else { high = middle }
    }
    while high - low > Self.searchStep {
      narrow(max(low, (low + high) / 2 / Self.searchStep * Self.searchStep))
    }
    prefetchSteps(in: low..<high, prefetch)
    while low < high { narrow((low + high) / 2) }
    return low
  }
}
