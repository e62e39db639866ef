extension OrderTree {
  /// Finds the place in a sorted list that has elements now.
  ///
  /// - Parameters:
  ///   - start: a leaf at or before the place.
  ///   - isBefore: whether an element comes before the place. If one does, all before it do.
  ///   - prefetch: loads what an element is compared by, which is in no cache as a rule.
  /// - Returns: also how many leaves are between the start and the place.
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
  /// The first element of a leaf that counts now.
  fileprivate var firstCurrent: ElementHandle? {
    (0..<count).first { entries[$0].isCurrent }.map { entries[$0].handle }
  }

  /// The last element of a leaf that counts now.
  fileprivate var lastCurrent: ElementHandle? {
    (0..<count).last { entries[$0].isCurrent }.map { entries[$0].handle }
  }

  /// A search looks at slots that are so far apart first.
  private static let searchStep = 8

  /// Loads the elements that a search of these slots looks at first, all at once.
  @inline(__always)
  fileprivate func prefetchSteps(in slots: Range<Int>, _ prefetch: (ElementHandle) -> Void) {
    let step = slots.count > Self.searchStep ? Self.searchStep : 1
    for slot in stride(from: slots.lowerBound, to: slots.upperBound, by: step) {
      prefetch(entries[slot].handle)
    }
    if let last = slots.last { prefetch(entries[last].handle) }
  }

  /// The slot of the first entry of a leaf that counts now and does not come before a place, or of what is deleted before it;
  /// `count` if all come before.
  @inline(__always)
  fileprivate func firstSlot(
    notBefore isBefore: (ElementHandle) -> Bool,
    _ prefetch: (ElementHandle) -> Void
  ) -> Int {
    var (low, high) = (0, count)
    func narrow(_ middle: Int) {
      // What is deleted is in no order: the next one that is not decides.
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
