import Glibc

extension FeedState {
  /// Another state with the current content of this one, none of it changed since it was published.
  /// O(n), at the cost of two allocations an element.
  func copyOfCurrent() -> FeedState {
    let copy = FeedState()
    let sectionHandles = currentHandles(FeedState.sectionScope)
    let copies = sectionHandles.map { section in
      let handle = copy.makeSection(sections[section].idSpan, sections[section].hash)
      FeedState.settle(handle, copy.sections, as: sections[section])
      return handle
    }
    copy.fill(FeedState.sectionScope, copies, checksum: list(FeedState.sectionScope).pointee.checksum)
    for (section, sectionCopy) in zip(sectionHandles, copies) {
      let itemCopies = currentHandles(section).map { item in
        let handle = copy.items.create(items[item].idSpan, items[item].hash)
        FeedState.settle(handle, copy.items, as: items[item])
        return handle
      }
      copy.fill(sectionCopy, itemCopies, checksum: list(section).pointee.checksum)
    }
    copy.totals = totals
    copy.publishedTotals = totals
    return copy
  }

  /// Gives a new element another's content, and forgets that it is new.
  private static func settle(_ handle: UInt32, _ table: ElementTable, as original: Element) {
    let byteCount = Int(original.kindCount) + Int(original.dataCount)
    if let content = original.content {
      let block = ElementTable.block(byteCount)
      memcpy(block, content, byteCount)
      table[handle].content = block
    }
    table[handle].kindCount = original.kindCount
    table[handle].dataCount = original.dataCount
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
