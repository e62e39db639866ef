import Glibc

extension FeedState {
  /// Gives an item another kind and other data. Nil keeps what it has.
  func setContent(item handle: UInt32, kind: ByteSpan?, data: ByteSpan?) {
    let item = items[handle]
    setContent(handle, isItem: true, kind: kind ?? item.kind, data: data ?? item.data)
  }

  /// Gives a section other data.
  func setContent(section handle: UInt32, data: ByteSpan) {
    setContent(handle, isItem: false, kind: .empty, data: data)
  }

  private func setContent(_ handle: UInt32, isItem: Bool, kind: ByteSpan, data: ByteSpan) {
    let table = isItem ? items : sections
    let element = table[handle]
    if element.content != nil, element.data.hasSameBytes(as: data), element.kind.hasSameBytes(as: kind) {
      return
    }
    table.touch(handle)
    let block = ElementTable.block(kind.count + data.count)
    memcpy(block, kind.base, kind.count)
    memcpy(block + kind.count, data.base, data.count)
    replaceBlock(handle, isItem: isItem, block, dataCount: UInt32(data.count), kindCount: UInt8(kind.count)) {
      old in
      self.retireContent(handle, isItem: isItem, old)
    }
  }

  /// Exchanges the block and keeps the totals right; `retire` takes the old one.
  func replaceBlock(
    _ handle: UInt32,
    isItem: Bool,
    _ block: UnsafeMutablePointer<UInt8>?,
    dataCount: UInt32,
    kindCount: UInt8,
    retire: (Element) -> Void
  ) {
    let table = isItem ? items : sections
    let old = table[handle]
    let kindChanges = !old.kind.hasSameBytes(as: Content.kind(block, kindCount))
    if old.isPresent, kindChanges { addChecksumTerm(handle, old.container, sign: -1) }
    if old.isPresent {
      let kinds =
        kindChanges
        ? JSONString.quotedCount(Content.kind(block, kindCount)) - JSONString.quotedCount(old.kind) : 0
      let growth = Int(dataCount) - Int(old.dataCount) + kinds
      if isItem { totals.itemBytes += growth } else { totals.sectionBytes += growth }
    }
    table[handle].content = block
    table[handle].dataCount = dataCount
    table[handle].kindCount = kindCount
    if old.isPresent, kindChanges { addChecksumTerm(handle, old.container, sign: 1) }
    retire(old)
  }

  private func addChecksumTerm(_ handle: UInt32, _ scope: UInt32, sign: Int) {
    let position = currentPosition(handle, scope)
    let previous = list(scope).pointee.tree.currentNeighbours(around: position).previous
    let term = checksumTerm(handle, after: previous, scope)
    addChecksum(sign > 0 ? term : 0 &- term, scope)
  }

  /// Content that was replaced is kept if it is the published one, or if the record may be undone.
  private func retireContent(_ handle: UInt32, isItem: Bool, _ old: Element) {
    let table = isItem ? items : sections
    let becomesPublished = table.withChange(handle) { change in
      guard change.wasPublished, !change.hasPublishedContent else { return false }
      change.publishedContent = old.content
      change.publishedDataCount = old.dataCount
      change.publishedKindCount = old.kindCount
      change.hasPublishedContent = true
      return true
    }
    let isJournaled = journal != nil && table.withChange(handle) { $0.contentJournal } == journalNumber
    if journal != nil { table.withChange(handle) { $0.contentJournal = journalNumber } }
    if becomesPublished {
      journal?.append(.publishedContent(handle, isItem: isItem))
    } else if journal != nil, !isJournaled {
      journal?.append(
        .content(
          handle,
          isItem: isItem,
          block: old.content,
          dataCount: old.dataCount,
          kindCount: old.kindCount
        )
      )
    } else {
      free(old.content)
    }
  }

  /// Asks for an entry even if nothing changes; a reload replaces a reconfigure.
  func force(_ handle: UInt32, isItem: Bool, _ forced: ElementChange.Forced) {
    let table = isItem ? items : sections
    table.touch(handle)
    let old = table.withChange(handle) { $0.forced }
    guard forced.rawValue > old.rawValue else { return }
    setForced(handle, isItem: isItem, forced, old: old)
  }

  /// Forgets a forced entry, because what it names is deleted.
  func forgetForced(_ handle: UInt32, isItem: Bool) {
    let table = isItem ? items : sections
    guard table[handle].change != 0 else { return }
    let old = table.withChange(handle) { $0.forced }
    if old != .none { setForced(handle, isItem: isItem, .none, old: old) }
  }

  private func setForced(
    _ handle: UInt32,
    isItem: Bool,
    _ forced: ElementChange.Forced,
    old: ElementChange.Forced
  ) {
    (isItem ? items : sections).withChange(handle) { $0.forced = forced }
    journal?.append(.forced(handle, isItem: isItem, old))
  }
}
