extension FeedState {
  /// Another state with the current content of this one, none of it changed since it was published.
  /// O(n), at the cost of an allocation an element, and one more for each long identifier.
  func copyOfCurrent() -> FeedState {
    let copy = FeedState()
    let sectionHandles = currentHandles(FeedState.sectionScope)
    let copies = sectionHandles.map { section in
      let handle = copy.makeSection(sections.id(section), sections[section].hash)
      copy.settle(handle, copy.sections, as: sections[section], kind: .empty)
      return handle
    }
    copy.fill(FeedState.sectionScope, copies, checksum: list(FeedState.sectionScope).pointee.checksum)
    for (section, sectionCopy) in zip(sectionHandles, copies) {
      let itemCopies = currentHandles(section).map { item in
        let handle = copy.items.create(items.id(item), items[item].hash)
        copy.settle(handle, copy.items, as: items[item], kind: kind(item))
        return handle
      }
      copy.fill(sectionCopy, itemCopies, checksum: list(section).pointee.checksum)
    }
    copy.totals = totals
    copy.publishedTotals = totals
    return copy
  }

  /// Gives a new element another's content, and forgets that it is new.
  private func settle(_ handle: UInt32, _ table: ElementTable, as original: Element, kind: ByteSpan) {
    if original.content.bytes != nil {
      table[handle].content = Content(
        copying: original.data,
        fingerprint: original.content.fingerprint,
        kind: kinds.use(kind)
      )
    }
    table[handle].change = 0
    table.changes.removeAll(keepingCapacity: true)
  }

  private func fill(_ scope: UInt32, _ handles: [UInt32], checksum: UInt32) {
    let table = table(scope)
    for handle in handles { table[handle].container = scope }
    handles.map(OrderEntry.both).withUnsafeBufferPointer { list(scope).pointee.tree.rebuild($0, table) }
    list(scope).pointee.checksum = checksum
    list(scope).pointee.publishedChecksum = checksum
  }
}
