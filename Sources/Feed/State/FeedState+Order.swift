extension FeedState {
  /// Sets a list's elements and their order. Other elements leave the feed; new ones must be in no list.
  ///
  /// Elements of a longest increasing subsequence keep their entries, so that only the others count as
  /// touched.
  ///
  /// - Parameter isUndo: whether a record is being undone: then removed elements are not deleted and keep
  ///   their forced entries.
  func setOrder(_ scope: Scope, _ handles: [ElementHandle], isUndo: Bool = false) {
    let list = list(scope)
    let table = table(scope)
    noteReplacement(scope)
    if let keep = list.pointee.settings?.keep.number, handles.count > keep { overfull.append(scope) }
    if hasOrder(list, handles) { return }
    // If most of the list is ghosts, it is not walked for the few current elements.
    let count = Int(list.pointee.tree.currentCount) + handles.count
    if count * 8 < list.pointee.tree.entryCount { return setOrderSingly(scope, handles, isUndo: isUndo) }

    var oldEntries: [OrderEntry] = []
    oldEntries.reserveCapacity(Int(list.pointee.tree.entryCount))
    var oldHandles: [ElementHandle] = []
    oldHandles.reserveCapacity(Int(list.pointee.tree.currentCount))
    // In this method, scratch is the old position plus one, with the top bit if the element stays in the
    // list.
    list.pointee.tree.forEachEntry { entry in
      oldEntries.append(entry)
      guard entry.isCurrent else { return }
      oldHandles.append(entry.handle)
      table.elements[entry.handle.index].scratch = UInt32(oldHandles.count)
    }
    list.pointee.isReordered = true
    journal?.append(.order(scope, oldHandles))

    let stays: UInt32 = 1 << 31
    var oldPositions: [Int32] = []
    oldPositions.reserveCapacity(handles.count)
    for handle in handles where table.elements[handle.index].scratch != 0 {
      oldPositions.append(Int32(table.elements[handle.index].scratch))
      table.elements[handle.index].scratch |= stays
    }
    let isKept = LongestIncreasingSubsequence.membership(oldPositions)

    updateTotals(scope, from: oldHandles, to: handles, stays: stays)

    var entries: [OrderEntry] = []
    entries.reserveCapacity(oldEntries.count + handles.count - oldPositions.count)
    var old = 0
    /// Handles an old entry whose element leaves its position.
    func vacate(_ entry: OrderEntry) {
      let handle = entry.handle
      if entry.isCurrent {
        table.touch(handle)
        table.elements[handle.index].container = .none
        table.elements[handle.index].leaf = nil
      }
      if entry.isPublished { entries.append(.ghost(handle)) }
    }
    var common = 0
    for handle in handles {
      let isOld = table.elements[handle.index].scratch != 0
      if isOld, isKept[common] {
        while !(oldEntries[old].isCurrent && oldEntries[old].handle == handle) {
          vacate(oldEntries[old])
          old += 1
        }
        entries.append(oldEntries[old])
        old += 1
      }
      if isOld { common += 1 }
    }
    while old < oldEntries.count {
      vacate(oldEntries[old])
      old += 1
    }
    // New entries are merged in a second pass: an element that moves forward precedes its old entry.
    entries = merge(entries, handles, table, scope)
    entries.withUnsafeBufferPointer { list.pointee.tree.rebuild($0, table) }
    for handle in oldHandles {
      if !isUndo, !table.elements[handle.index].isPresent {
        forgetForced(handle, table)
      }
      table.elements[handle.index].scratch = 0
    }
  }

  /// The same as `setOrder` by single changes: O(k log n) for k elements, for any number of ghosts.
  private func setOrderSingly(_ scope: Scope, _ handles: [ElementHandle], isUndo: Bool) {
    let table = table(scope)
    let oldHandles = currentHandles(scope)
    for (position, handle) in oldHandles.enumerated() { table[handle].scratch = UInt32(position) + 1 }
    let common = handles.filter { table[$0].scratch != 0 }
    let isKept = LongestIncreasingSubsequence.membership(common.map { Int32(table[$0].scratch) })
    for (handle, isKept) in zip(common, isKept) where isKept { table[handle].scratch = 0 }
    // An element that still has a mark leaves its position.
    for handle in oldHandles where table[handle].scratch != 0 {
      table[handle].scratch = 0
      detach(handle, scope)
    }
    for (rank, handle) in handles.enumerated() where !table[handle].isPresent {
      attach(handle, scope, at: Rank(rank))
    }
    if isUndo { return }
    for handle in oldHandles where !table[handle].isPresent {
      forgetForced(handle, table)
    }
  }

  private func noteReplacement(_ scope: Scope) {
    let list = list(scope)
    if !list.pointee.isReplaced { replacedScopes.append(scope) }
    list.pointee.noteReplacement()
  }

  /// Merges the entries of new and moved elements into those that were kept.
  private func merge(
    _ kept: [OrderEntry],
    _ handles: [ElementHandle],
    _ table: ElementTable,
    _ scope: Scope
  ) -> [OrderEntry] {
    var merged: [OrderEntry] = []
    merged.reserveCapacity(kept.count + handles.count)
    var next = 0
    for handle in handles {
      if table.elements[handle.index].isPresent {
        while true {
          let entry = kept[next]
          next += 1
          merged.append(entry)
          if entry.isCurrent { break }
        }
      } else {
        table.touch(handle)
        table.elements[handle.index].container = PackedOptional(scope)
        merged.append(.newcomer(handle))
      }
    }
    merged.append(contentsOf: kept[next...])
    return merged
  }

  private func hasOrder(_ list: UnsafeMutablePointer<OrderedList>, _ handles: [ElementHandle]) -> Bool {
    guard Int(list.pointee.tree.currentCount) == handles.count else { return false }
    var cursor = CurrentCursor(list.pointee.tree)
    return handles.allSatisfy { $0 == cursor.next() }
  }

  /// Updates checksum, sizes and counts when a list's order is replaced: visits only changed neighbours.
  private func updateTotals(
    _ scope: Scope,
    from oldHandles: [ElementHandle],
    to handles: [ElementHandle],
    stays: UInt32
  ) {
    let table = table(scope)
    var sum: UInt32 = 0
    var previous: ElementHandle?
    for handle in handles {
      let scratch = table.elements[handle.index].scratch
      if scratch == 0 {
        sum &+= checksumTerm(handle, after: previous, scope)
        addSize(handle, scope, sign: 1)
      } else {
        let position = Int(scratch & ~stays) - 1
        let oldPrevious = position > 0 ? oldHandles[position - 1] : nil
        if oldPrevious != previous {
          sum &+= checksumTerm(handle, after: previous, scope)
          sum &-= checksumTerm(handle, after: oldPrevious, scope)
        }
      }
      previous = handle
    }
    previous = nil
    for handle in oldHandles {
      if table.elements[handle.index].scratch & stays == 0 {
        sum &-= checksumTerm(handle, after: previous, scope)
        addSize(handle, scope, sign: -1)
      }
      previous = handle
    }
    addChecksum(sum, scope)
    if !scope.isSections {
      totals.filledSectionCount += (handles.isEmpty ? 0 : 1) - (oldHandles.isEmpty ? 0 : 1)
    }
  }
}
