extension FeedState {
  /// Makes the current state the published one.
  func confirm() {
    settle(confirming: true)
    publishedTotals = totals
  }

  /// Makes the published state the current one.
  func rollBack() {
    endJournal()
    settle(confirming: false)
    countEnds(Int(publishedTotals.endCount - totals.endCount))
    totals = publishedTotals
  }

  private func settle(confirming: Bool) {
    let scopes = beginSettling()
    settleEntries(items, scopes, confirming: confirming)
    settleEntries(sections, scopes, confirming: confirming)
    endSettling(scopes, confirming: confirming)
    for change in items.changes { settle(change, items, confirming: confirming) }
    for change in sections.changes { settle(change, sections, confirming: confirming) }
    removeChanges()
    overfull.removeAll()
  }

  private func removeChanges() {
    for scope in replacedScopes { list(scope).pointee.isReplaced = false }
    replacedScopes.removeAll()
    items.removeChanges()
    sections.removeChanges()
    items.compactIfEmpty()
    sections.compactIfEmpty()
    compactLists()
  }

  // MARK: Order

  /// The way to settle a changed list; stored in its touch count.
  private enum Settling {
    static let singly: Int32 = 1
    static let byRebuilding: Int32 = 2
  }

  /// The changed lists. Those with many changes are rebuilt.
  private func beginSettling() -> [Scope] {
    var scopes: [Scope] = []
    func add(_ container: PackedOptional<Scope>) {
      guard let scope = container.value, list(scope).pointee.touchCount == 0 else { return }
      let tree = list(scope).pointee.tree
      let surplus = tree.entryCount - min(tree.publishedCount, tree.currentCount)
      list(scope).pointee.touchCount =
        surplus * 8 > tree.entryCount ? Settling.byRebuilding : Settling.singly
      scopes.append(scope)
    }
    for change in items.changes {
      add(change.publishedContainer)
      add(items[change.handle].container)
    }
    if !sections.changes.isEmpty { add(PackedOptional(.sections)) }
    return scopes
  }

  private func isSettledSingly(_ scope: Scope) -> Bool {
    list(scope).pointee.touchCount == Settling.singly
  }

  /// Removes the entries of the discarded order, and makes the others count in both; rebuilds some lists.
  private func settleEntries(_ table: ElementTable, _ scopes: [Scope], confirming: Bool) {
    if confirming {
      forEachGhost(table) { _, scope, position in list(scope).pointee.tree.remove(position, table) }
      forEachNewcomer(table) { handle, scope, position in
        list(scope).pointee.tree.replace(position, with: .both(handle), table)
      }
    } else {
      forEachNewcomer(table) { handle, scope, position in
        list(scope).pointee.tree.remove(position, table)
        table[handle].container = .none
        table[handle].leaf = nil
      }
      forEachGhost(table) { handle, scope, position in
        list(scope).pointee.tree.replace(position, with: .both(handle), table)
        table[handle].container = PackedOptional(scope)
      }
    }
    for scope in scopes
    where self.table(scope) === table && list(scope).pointee.touchCount == Settling.byRebuilding {
      rebuild(scope, table, confirming: confirming)
    }
  }

  private func forEachGhost(
    _ table: ElementTable,
    _ body: (ElementHandle, Scope, OrderTree.Position) -> Void
  ) {
    for index in table.changes.indices {
      // Read again each time, because removals move entries to other leaves.
      guard let leaf = table.changes[index].ghostLeaf else { continue }
      let scope = table.changes[index].publishedScope
      guard isSettledSingly(scope) else { continue }
      let handle = table.changes[index].handle
      body(handle, scope, list(scope).pointee.tree.position(of: .ghost(handle), in: leaf))
    }
  }

  private func forEachNewcomer(
    _ table: ElementTable,
    _ body: (ElementHandle, Scope, OrderTree.Position) -> Void
  ) {
    for index in table.changes.indices {
      let change = table.changes[index]
      let element = table[change.handle]
      guard !change.wasPublished || change.ghostLeaf != nil, let scope = element.container.value,
        isSettledSingly(scope), let leaf = element.leaf
      else { continue }
      body(change.handle, scope, list(scope).pointee.tree.position(of: .newcomer(change.handle), in: leaf))
    }
  }

  private func rebuild(_ scope: Scope, _ table: ElementTable, confirming: Bool) {
    let tree = list(scope).pointee.tree
    var entries: [OrderEntry] = []
    entries.reserveCapacity(Int(max(tree.currentCount, tree.publishedCount)))
    tree.forEachEntry { entry in
      guard confirming ? entry.isCurrent : entry.isPublished else { return }
      entries.append(.both(entry.handle))
      if !confirming { table.elements[entry.handle.index].container = PackedOptional(scope) }
    }
    entries.withUnsafeBufferPointer { list(scope).pointee.tree.rebuild($0, table) }
  }

  private func endSettling(_ scopes: [Scope], confirming: Bool) {
    for scope in scopes {
      let list = list(scope)
      list.pointee.touchCount = 0
      list.pointee.isReordered = false
      list.pointee.needsWholeOrder = false
      if confirming {
        list.pointee.publishedChecksum = list.pointee.checksum
      } else {
        list.pointee.checksum = list.pointee.publishedChecksum
        // The keys may belong to other data.
        list.pointee.isSorted = false
      }
    }
  }

  // MARK: Elements

  private func settle(_ change: ElementChange, _ table: ElementTable, confirming: Bool) {
    let handle = change.handle
    if let content = change.publishedContent {
      release(confirming ? content : table[handle].content)
      if !confirming { table[handle].content = content }
    }
    if table === sections { settleSettings(handle, confirming: confirming) }
    table[handle].change = .none
    if confirming ? !table[handle].isPresent : !change.wasPublished {
      release(table[handle].content)
      table.destroy(handle)
    } else if !confirming, table[handle].content.hasEnd {
      schedule(table[handle].content.end, of: handle)
    }
  }
}
