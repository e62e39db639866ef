extension FeedState {
  /// Lets a list hold exactly these elements in this order. Other elements that it held leave the feed;
  /// what is new to it must be in no list.
  ///
  /// Elements that can stay (a longest increasing subsequence) keep their entries, so that only
  /// the others count as touched.
  ///
  /// - Parameter isUndo: whether a record is being undone, so that what leaves is not deleted and
  ///   keeps its forced entry.
  func setOrder(_ scope: Scope, _ handles: [ElementHandle], isUndo: Bool = false) {
    let list = list(scope)
    let table = table(scope)
    noteReplacement(scope)
    if let keep = list.pointee.settings?.keep, handles.count > keep { overfull.append(scope) }
    if hasOrder(list, handles) { return }
    // Where ghosts are most of the list, it is not walked for the few that count now.
    let count = Int(list.pointee.tree.currentCount) + handles.count
    if count * 8 < list.pointee.tree.entryCount { return setOrderSingly(scope, handles, isUndo: isUndo) }

    var oldEntries: [OrderEntry] = []
    oldEntries.reserveCapacity(Int(list.pointee.tree.entryCount))
    var oldHandles: [ElementHandle] = []
    oldHandles.reserveCapacity(Int(list.pointee.tree.currentCount))
    // While this runs, an old element's scratch is its old position plus one, and the top bit says
    // that it stays in the list.
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
    /// Takes over an old entry whose element leaves its place.
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
    // The newcomers are merged in a second pass, as an element that moves forward is met before
    // its old entry is.
    entries = merge(entries, handles, table, scope)
    entries.withUnsafeBufferPointer { list.pointee.tree.rebuild($0, table) }
    for handle in oldHandles {
      if !isUndo, !table.elements[handle.index].isPresent {
        forgetForced(handle, table)
      }
      table.elements[handle.index].scratch = 0
    }
  }

  /// Does what `setOrder` does by single changes: O(k log n) for k elements, whatever the list's ghosts.
  private func setOrderSingly(_ scope: Scope, _ handles: [ElementHandle], isUndo: Bool) {
    let table = table(scope)
    let oldHandles = currentHandles(scope)
    for (position, handle) in oldHandles.enumerated() { table[handle].scratch = UInt32(position) + 1 }
    let common = handles.filter { table[$0].scratch != 0 }
    let isKept = LongestIncreasingSubsequence.membership(common.map { Int32(table[$0].scratch) })
    for (handle, isKept) in zip(common, isKept) where isKept { table[handle].scratch = 0 }
    // What still has a mark leaves its place, for good or for another.
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

  /// Puts newcomers for the elements that were not kept among the entries that were.
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

  /// Keeps checksum, sizes and counts right while a list's order is replaced: only neighbours that
  /// changed are looked at.
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
