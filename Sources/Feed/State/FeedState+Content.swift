import Glibc

extension FeedState {
  /// The kind of an item.
  @inline(__always)
  func kind(_ item: ElementHandle) -> ByteSpan { kinds[items[item].content.kind] }

  /// Sets an item's fields.
  @inline(__always)
  func setContent(item handle: ElementHandle, _ fields: ElementFields) {
    if fields.hasReferences || referenceCount != 0 && items[handle].content.hasReferences {
      return setReferring(handle, fields)
    }
    setContent(handle, items, fields)
  }

  /// Sets a section's fields. A new order does not sort its items yet.
  func setContent(section handle: ElementHandle, _ fields: ElementFields) {
    if fields.order != nil || fields.keep != .absent || fields.lifetime != .absent {
      setSettings(handle, fields)
    }
    setContent(handle, sections, ElementFields(data: fields.data))
  }

  func setContent(_ handle: ElementHandle, _ table: ElementTable, _ fields: ElementFields) {
    let old = table[handle].content
    let keepsKind = fields.kind.map { kinds[old.kind].hasSameBytes(as: $0) } ?? true
    let fingerprint = old.fingerprint(with: fields)
    if keepsKind, old.has(fields, fingerprint: fingerprint) { return }
    table.touch(handle)
    var kindNumber = old.kind
    if let kind = fields.kind, !keepsKind { kindNumber = kinds.use(kind) } else { kinds.use(kindNumber) }
    var new = Content(
      copying: fields.data ?? old.data,
      fingerprint: fingerprint,
      kind: kindNumber,
      blocks: blocks
    )
    let mayChangeRest = old.hasRest || fields.lifetime.number != nil
    if mayChangeRest { new.append(fields.lifetime.or(old.end), blocks: blocks) }
    let replaced = replaceContent(handle, table, with: new)
    if mayChangeRest { noteRest(of: handle, instead: replaced) }
    retireContent(handle, table, replaced)
  }

  /// Releases a content's memory.
  @inline(__always)
  func release(_ content: Content) {
    kinds.release(content.kind)
    if content.hasReferences { releaseReferences(of: content) }
    content.giveBack(to: blocks)
  }

  /// Replaces the content and updates the totals, without the bytes of references.
  ///
  /// - Returns: the old one, which the caller then owns.
  func replaceContent(_ handle: ElementHandle, _ table: ElementTable, with new: Content) -> Content {
    let old = table[handle].content
    let isPresent = table[handle].isPresent
    let kindChanges = new.kind != old.kind
    if isPresent, kindChanges { addChecksumTerm(handle, table[handle].scope, sign: -1) }
    if isPresent {
      var growth = new.byteCount - old.byteCount
      if kindChanges {
        growth += JSONString.quotedCount(kinds[new.kind]) - JSONString.quotedCount(kinds[old.kind])
      }
      if table === items { totals.itemBytes += growth } else { totals.sectionBytes += growth }
    }
    table[handle].content = new
    if isPresent, kindChanges { addChecksumTerm(handle, table[handle].scope, sign: 1) }
    return old
  }

  private func addChecksumTerm(_ handle: ElementHandle, _ scope: Scope, sign: Int) {
    let position = currentPosition(handle, scope)
    let previous = list(scope).pointee.tree.currentNeighbours(around: position).previous
    let term = checksumTerm(handle, after: previous, scope)
    addChecksum(sign > 0 ? term : 0 &- term, scope)
  }

  /// Keeps replaced content if it is the published one, or if the record may be undone.
  func retireContent(_ handle: ElementHandle, _ table: ElementTable, _ old: Content) {
    let becomesPublished = table.withChange(handle) { change in
      guard change.wasPublished, change.publishedContent == nil else { return false }
      change.publishedContent = old
      return true
    }
    guard journal != nil else {
      if !becomesPublished { release(old) }
      return
    }
    let isJournaled = table.withChange(handle) { $0.contentJournal } == journalNumber
    table.withChange(handle) { $0.contentJournal = journalNumber }
    if becomesPublished {
      journal?.append(.publishedContent(handle, isItem: table === items))
    } else if !isJournaled {
      journal?.append(.content(handle, isItem: table === items, old))
    } else {
      release(old)
    }
  }

  /// Asks for an entry even if nothing changes; a reload replaces a reconfigure.
  func force(_ handle: ElementHandle, _ table: ElementTable, _ forced: ElementChange.Forced) {
    table.touch(handle)
    let old = table.withChange(handle) { $0.forced }
    guard forced.rawValue > old.rawValue else { return }
    setForced(handle, table, forced, old: old)
  }

  /// Removes a forced entry, because its element is deleted.
  func forgetForced(_ handle: ElementHandle, _ table: ElementTable) {
    if table[handle].change.isNone { return }
    let old = table.withChange(handle) { $0.forced }
    if old != .none { setForced(handle, table, .none, old: old) }
  }

  private func setForced(
    _ handle: ElementHandle,
    _ table: ElementTable,
    _ forced: ElementChange.Forced,
    old: ElementChange.Forced
  ) {
    table.withChange(handle) { $0.forced = forced }
    journal?.append(.forced(handle, isItem: table === items, old))
  }
}

extension FeedState {
  /// Records from here on how to undo each step.
  func beginJournal() {
    journal = []
    journalNumber &+= 1
  }

  /// Discards the journal.
  func endJournal() {
    guard let steps = journal else { return }
    journal = nil
    for step in steps { if let content = step.ownedContent { release(content) } }
  }

  /// Undoes everything since `beginJournal`.
  func undoJournal() {
    guard let steps = journal else { return }
    journal = nil
    for step in steps.reversed() { undo(step) }
    overfull.removeAll()
    for step in steps { if let item = step.item { refreshSortKey(item) } }
  }

  private func restoreContent(_ handle: ElementHandle, _ table: ElementTable, _ content: Content) {
    let replaced = replaceContent(handle, table, with: content)
    if table === items { noteRest(of: handle, instead: replaced) }
    release(replaced)
  }

  private func undo(_ step: Undo) {
    switch step {
    case .attached(let handle, let scope): detach(handle, scope)
    case .detached(let handle, let scope, let rank, let leftGhost):
      if !leftGhost || !reviveGhost(handle, scope, at: rank) { attach(handle, scope, at: rank) }
    case .content(let handle, let isItem, let content):
      restoreContent(handle, isItem ? items : sections, content)
    case .publishedContent(let handle, let isItem):
      let table = isItem ? items : sections
      guard let content = table.withChange(handle, { $0.publishedContent.take() }) else {
        preconditionFailure("the published content is not remembered")
      }
      restoreContent(handle, table, content)
    case .forced(let handle, let isItem, let forced):
      (isItem ? items : sections).withChange(handle) { $0.forced = forced }
    case .order(let scope, let handles): setOrder(scope, handles, isUndo: true)
    case .settings(let section, let settings): replaceSettings(section, settings)
    case .sorted(let scope): list(scope).pointee.isSorted = false
    }
  }
}

/// A step of a record, with the data to undo it, so that a record with several events is applied as a whole
/// or not at all. Steps are undone in reverse order.
enum Undo {
  case attached(ElementHandle, Scope)
  case detached(ElementHandle, Scope, rank: Rank, leftGhost: Bool)
  /// Replaced content that only the journal keeps.
  case content(ElementHandle, isItem: Bool, Content)
  /// Replaced content that is the published content.
  case publishedContent(ElementHandle, isItem: Bool)
  case forced(ElementHandle, isItem: Bool, ElementChange.Forced)
  /// The order of a whole list.
  case order(Scope, [ElementHandle])
  case settings(section: ElementHandle, SectionSettings?)
  /// The list had no keys before, as after a restoration.
  case sorted(Scope)

  /// The content that the step owns, if any.
  var ownedContent: Content? {
    if case .content(_, _, let content) = self { content } else { nil }
  }

  /// The item whose sort key may change when the step is undone.
  var item: ElementHandle? {
    switch self {
    case .attached(let handle, let scope), .detached(let handle, let scope, _, _):
      scope.isSections ? nil : handle
    case .content(let handle, let isItem, _), .publishedContent(let handle, let isItem):
      isItem ? handle : nil
    case .forced, .order, .settings, .sorted: nil
    }
  }
}
