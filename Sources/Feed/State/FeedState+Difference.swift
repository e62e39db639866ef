extension FeedState {
  /// The difference between an element's content and its published content.
  enum ContentChange {
    case none, reconfigure, reload
  }

  /// The entry for the content of an element in both states.
  @inline(__always)
  private func contentChange(_ element: Element, _ change: ElementChange, isItem: Bool) -> ContentChange {
    if change.forced == .reload { return .reload }
    if !isItem, list(.items(of: change.handle)).pointee.hasNewSettings { return .reconfigure }
    if let published = change.publishedContent {
      if published.kind != element.content.kind { return .reload }
      if !published.isSame(as: element.content) { return .reconfigure }
    }
    return change.forced == .reconfigure ? .reconfigure : .none
  }

  private func kindChanged(_ element: Element, _ change: ElementChange) -> Bool {
    change.publishedContent.map { $0.kind != element.content.kind } ?? false
  }

  // MARK: Tally

  /// Counts the changes, at a cost proportional to the touched elements.
  func tally() -> DifferenceTally {
    var tally = DifferenceTally()
    tally.commonItemCount = publishedTotals.itemCount
    count(sections, &tally)
    count(items, &tally)
    return tally
  }

  /// Whether the current state differs from the published one. Mostly decided by the first changes.
  var isChanged: Bool {
    var tally = DifferenceTally()
    count(sections, &tally, untilCertain: true)
    count(items, &tally, untilCertain: true)
    return tally.isCertain || tally.possibleMoves > 0 && !difference().isEmpty
  }

  private func count(_ table: ElementTable, _ tally: inout DifferenceTally, untilCertain: Bool = false) {
    let areItems = table === items
    for change in table.changes {
      if untilCertain, tally.isCertain { return }
      let element = table[change.handle]
      switch (change.wasPublished, element.isPresent) {
      case (false, false): break
      case (false, true): tally.certainWeight += 1
      case (true, false):
        if areItems {
          tally.commonItemCount -= 1
          // A deleted section's items have no entries.
          if sections[change.publishedScope.section].isPresent { tally.certainWeight += 1 }
        } else {
          tally.certainWeight += 1
        }
      case (true, true):
        if areItems, kindChanged(element, change) { tally.changedKindCount += 1 }
        switch contentChange(element, change, isItem: areItems) {
        case .none: break
        case .reconfigure: tally.reconfigureCount += 1
        case .reload: tally.certainWeight += 1
        }
        if change.ghostLeaf != nil {
          if change.publishedContainer == element.container {
            tally.possibleMoves += 1
          } else {
            tally.certainWeight += 1
          }
        }
      }
    }
  }

  // MARK: Difference

  /// The difference between the published and the current state. Costs O(k log n) for k touched elements; a
  /// list with many touched elements is walked once instead.
  func difference() -> FeedDifference {
    var difference = FeedDifference()
    findRanks(sections)
    let wholeSections = isWalked(.sections)
    if wholeSections { walkForRanks(.sections) }
    collect(sections, &difference.sections)
    collectMoves(within: [.sections], sections, &difference.sections)
    difference.sections.sort()

    let scopes = touchedItemScopes()
    for scope in scopes { findSectionRanks(scope.section) }
    findRanks(items)
    for scope in scopes where isWalked(scope) { walkForRanks(scope) }
    collect(items, &difference.items)
    collectMoves(within: scopes, items, &difference.items)
    difference.items.sort()

    for scope in scopes { forgetRanks(scope) }
    forgetRanks(.sections)
    return difference
  }

  /// The sections whose items were touched, each once; counts the touches.
  private func touchedItemScopes() -> [Scope] {
    var scopes: [Scope] = []
    func touch(_ container: PackedOptional<Scope>) {
      guard let scope = container.value else { return }
      let list = list(scope)
      if list.pointee.touchCount == 0 { scopes.append(scope) }
      list.pointee.touchCount += 1
    }
    for change in items.changes {
      let container = items[change.handle].container
      touch(change.publishedContainer)
      if container != change.publishedContainer { touch(container) }
    }
    return scopes
  }

  private func forgetRanks(_ scope: Scope) {
    list(scope).pointee.touchCount = 0
    list(scope).pointee.publishedRank = .none
    list(scope).pointee.currentRank = .none
  }

  /// Finds a section's rank in both orders, for sorting.
  private func findSectionRanks(_ section: ElementHandle) {
    let list = list(.items(of: section))
    list.pointee.publishedRank = rank(section, .sections, published: true).map { PackedOptional($0) } ?? .none
    list.pointee.currentRank = rank(section, .sections, published: false).map { PackedOptional($0) } ?? .none
  }

  /// Whether to walk a whole list: many of its elements were touched, or the fewest moves require it.
  private func isWalked(_ scope: Scope) -> Bool {
    let list = list(scope)
    let touches = scope.isSections ? Int32(sections.changes.count) : list.pointee.touchCount
    return list.pointee.needsWholeOrder || touches * 8 > list.pointee.tree.entryCount
  }

  /// Looks up the positions of touched elements in the lists that are not walked.
  private func findRanks(_ table: ElementTable) {
    for index in table.changes.indices {
      let handle = table.changes[index].handle
      let container = table[handle].container
      var publishedRank = PackedOptional<Rank>.none
      var currentRank = PackedOptional<Rank>.none
      if let leaf = table.changes[index].ghostLeaf {
        let scope = table.changes[index].publishedScope
        if !isWalked(scope) {
          let tree = list(scope).pointee.tree
          publishedRank = PackedOptional(tree.ranks(tree.position(of: .ghost(handle), in: leaf)).published)
        }
      }
      if let scope = container.value, !isWalked(scope) {
        currentRank = PackedOptional(self.currentRank(handle, scope))
      }
      table.changes[index].publishedRank = publishedRank
      table.changes[index].currentRank = currentRank
    }
  }

  /// Records the positions of touched elements while walking their list.
  private func walkForRanks(_ scope: Scope) {
    let table = table(scope)
    let elements = table.elements
    var before = OrderCounts()
    table.withChanges { changes in
      list(scope).pointee.tree.forEachEntry { entry in
        if let change = elements[entry.handle.index].change.value {
          if entry.isPublished {
            changes[change.index].publishedRank = PackedOptional(Rank(before.published))
          }
          if entry.isCurrent { changes[change.index].currentRank = PackedOptional(Rank(before.current)) }
        }
        before += entry.counts
      }
    }
  }

  /// The published order: first by the section's position, then by the element's. Sections are in no section.
  private func publishedKey(_ scope: Scope, _ rank: Rank) -> UInt64 {
    let section = scope.isSections ? .first : list(scope).pointee.publishedRank.known
    return FeedState.sortKey(section, rank)
  }

  private func currentKey(_ scope: Scope, _ rank: Rank) -> UInt64 {
    let section = scope.isSections ? .first : list(scope).pointee.currentRank.known
    return FeedState.sortKey(section, rank)
  }

  @inline(__always)
  static func sortKey(_ section: Rank, _ rank: Rank) -> UInt64 {
    UInt64(UInt32(bitPattern: section.number)) << 32 | UInt64(UInt32(bitPattern: rank.number))
  }

  /// Collects all entries except the moves within a list.
  private func collect(_ table: ElementTable, _ entries: inout FeedDifference.Entries) {
    let areItems = table === items
    for change in table.changes {
      let element = table[change.handle]
      var entry = FeedDifference.Entry(handle: change.handle)
      if let container = element.container.value {
        entry.toScope = container
        entry.to = change.currentRank.known
        entry.sortKey = currentKey(container, entry.to)
        guard change.wasPublished else {
          entries[.insert].append(entry)
          continue
        }
        switch contentChange(element, change, isItem: areItems) {
        case .none: break
        case .reconfigure:
          // If there is one, there are mostly many.
          if entries[.reconfigure].isEmpty {
            entries[.reconfigure].reserveCapacity(min(table.changes.count, 1024))
          }
          entries[.reconfigure].append(entry)
        case .reload: entries[.reload].append(entry)
        }
        if change.publishedContainer != element.container {
          entry.fromScope = change.publishedScope
          entry.from = change.publishedRank.known
          entries[.move].append(entry)
        }
      } else if change.wasPublished {
        // A deleted section's items are deleted with it.
        if areItems, !sections[change.publishedScope.section].isPresent { continue }
        entry.fromScope = change.publishedScope
        entry.from = change.publishedRank.known
        entry.sortKey = publishedKey(entry.fromScope, entry.from)
        entries[.delete].append(entry)
      }
    }
  }

  // MARK: Moves within lists

  private func collectMoves(
    within scopes: [Scope],
    _ table: ElementTable,
    _ entries: inout FeedDifference.Entries
  ) {
    var hasSparseLists = false
    for scope in scopes where hasChangedOrder(scope) {
      if isWalked(scope) {
        walkForMoves(scope, table, &entries)
      } else {
        hasSparseLists = true
      }
    }
    if hasSparseLists { findSparseMoves(table, &entries) }
  }

  /// Whether a list has entries that count in only one of the two orders; otherwise nothing has moved.
  private func hasChangedOrder(_ scope: Scope) -> Bool {
    let tree = list(scope).pointee.tree
    return tree.entryCount > tree.publishedCount || tree.entryCount > tree.currentCount
  }

  private func move(_ handle: ElementHandle, _ scope: Scope, from: Rank, to: Rank) -> FeedDifference.Entry {
    FeedDifference.Entry(handle, of: scope, from: from, to: to, sortKey: currentKey(scope, to))
  }

  private func move(_ change: ElementChange, _ scope: Scope) -> FeedDifference.Entry {
    move(change.handle, scope, from: change.publishedRank.known, to: change.currentRank.known)
  }

  /// Finds the fewest moves in a whole list: all elements outside of a longest increasing subsequence.
  private func walkForMoves(_ scope: Scope, _ table: ElementTable, _ entries: inout FeedDifference.Entries) {
    var before = OrderCounts()
    var handles: [ElementHandle] = []
    var from: [Int32] = []
    var to: [Int32] = []
    list(scope).pointee.tree.forEachEntry { entry in
      if entry.isCurrent {
        if entry.isPublished {
          handles.append(entry.handle)
          from.append(before.published)
          to.append(before.current)
        } else {
          let change = table.withChange(entry.handle) { $0 }
          if change.publishedContainer == scope {
            handles.append(entry.handle)
            from.append(change.publishedRank.known.number)
            to.append(before.current)
          }
        }
      }
      before += entry.counts
    }
    let isKept = LongestIncreasingSubsequence.membership(from)
    for at in handles.indices where !isKept[at] {
      entries[.move].append(move(handles[at], scope, from: Rank(from[at]), to: Rank(to[at])))
    }
  }

  /// Finds moves in the lists that are not walked. Of the elements that left their position, those stay that
  /// have as many unmoved elements before them as before, and are in order among themselves.
  private func findSparseMoves(_ table: ElementTable, _ entries: inout FeedDifference.Entries) {
    struct Touch {
      var key: UInt64
      var change: Int
    }
    func touchKey(_ scope: Scope, _ rank: Rank) -> UInt64 {
      UInt64(scope.index) << 32 | UInt64(UInt32(bitPattern: rank.number))
    }
    var ghosts: [Touch] = []
    var newcomers: [Touch] = []
    for (index, change) in table.changes.enumerated() {
      let element = table[change.handle]
      if change.ghostLeaf != nil, !isWalked(change.publishedScope) {
        ghosts.append(Touch(key: touchKey(change.publishedScope, change.publishedRank.known), change: index))
      }
      if let scope = element.container.value, change.ghostLeaf != nil || !change.wasPublished,
        !isWalked(scope)
      {
        newcomers.append(Touch(key: touchKey(scope, change.currentRank.known), change: index))
      }
    }
    if ghosts.isEmpty || newcomers.isEmpty { return }
    ghosts.sort { $0.key < $1.key }
    newcomers.sort { $0.key < $1.key }

    // For each ghost, the unmoved elements before it in the published order.
    var unmovedBefore = [PackedOptional<Rank>](repeating: .none, count: table.changes.count)
    var start = 0
    for at in ghosts.indices {
      if ghosts[at].key >> 32 != ghosts[start].key >> 32 { start = at }
      let rank = table.changes[ghosts[at].change].publishedRank.known
      unmovedBefore[ghosts[at].change] = PackedOptional(rank - Int32(at - start))
    }

    start = 0
    while start < newcomers.count {
      let scope = table[table.changes[newcomers[start].change].handle].scope
      var end = start
      var candidates: [Int] = []
      var from: [Int32] = []
      while end < newcomers.count, newcomers[end].key >> 32 == newcomers[start].key >> 32 {
        let index = newcomers[end].change
        let change = table.changes[index]
        if change.wasPublished, change.publishedContainer == scope {
          if unmovedBefore[index] == change.currentRank.known - Int32(end - start) {
            candidates.append(index)
            from.append(change.publishedRank.known.number)
          } else {
            entries[.move].append(move(change, scope))
          }
        }
        end += 1
      }
      let isKept = LongestIncreasingSubsequence.membership(from)
      for (at, index) in candidates.enumerated() where !isKept[at] {
        entries[.move].append(move(table.changes[index], scope))
      }
      start = end
    }
  }
}
