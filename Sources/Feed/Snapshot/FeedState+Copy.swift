extension FeedState {
  /// Another state with the current content of this one, none of it changed since it was published.
  /// O(n), at the cost of an allocation an element, and one more for each long identifier.
  func copyOfCurrent() -> FeedState {
    let copy = FeedState()
    let sectionHandles = currentHandles(.sections)
    let copies = sectionHandles.map { section in
      let handle = copy.makeSection(sections.id(section), sections[section].hash)
      copy.settle(handle, copy.sections, as: sections[section], kind: .empty)
      return handle
    }
    copy.fill(.sections, copies, checksum: list(.sections).pointee.checksum)
    for (section, sectionCopy) in zip(sectionHandles, copies) {
      let itemCopies = currentHandles(.items(of: section)).map { item in
        let handle = copy.items.createSettled(items.id(item), items[item].hash)
        copy.settle(handle, copy.items, as: items[item], kind: kind(item))
        return handle
      }
      copy.fill(.items(of: sectionCopy), itemCopies, checksum: list(.items(of: section)).pointee.checksum)
    }
    copy.totals = totals
    copy.publishedTotals = totals
    return copy
  }

  /// Gives a new element another's content, and forgets that it is new.
  private func settle(_ handle: ElementHandle, _ table: ElementTable, as original: Element, kind: ByteSpan) {
    if original.content.bytes != nil {
      table[handle].content = Content(
        copying: original.data,
        fingerprint: original.content.fingerprint,
        kind: kinds.use(kind)
      )
    }
    table[handle].change = .none
    table.changes.removeAll(keepingCapacity: true)
  }

  private func fill(_ scope: Scope, _ handles: [ElementHandle], checksum: UInt32) {
    let table = table(scope)
    for handle in handles { table[handle].container = PackedOptional(scope) }
    handles.map(OrderEntry.both).withUnsafeBufferPointer { list(scope).pointee.tree.rebuild($0, table) }
    list(scope).pointee.checksum = checksum
    list(scope).pointee.publishedChecksum = checksum
  }
}
