/// The state that the copies of a snapshot share.
///
/// The state has no unpublished changes: applying a difference ends with `confirm`, or with `rollBack` if it
/// fails. Reading therefore writes nothing, and storage that several snapshots share, perhaps in several
/// threads, is only read: an owner copies shared storage before changing it. So it is `Sendable`.
final class SnapshotStorage: @unchecked Sendable {
  let state: FeedState

  init(_ state: FeedState) { self.state = state }

  /// A copy with separate storage. O(n).
  func copy() -> SnapshotStorage { SnapshotStorage(state.copyOfCurrent()) }

  // MARK: Finding

  func find(_ id: ItemIdentifier) -> ElementHandle? { id.text.withBytes(state.items.findPresent) }

  func find(_ id: SectionIdentifier) -> ElementHandle? { id.text.withBytes(state.sections.findPresent) }

  func known(_ id: SectionIdentifier) throws(SnapshotError) -> ElementHandle {
    guard let handle = find(id) else { throw .unknown(id) }
    return handle
  }

  func sectionIdentifier(_ handle: ElementHandle) -> SectionIdentifier {
    SectionIdentifier(state.sections.id(handle))
  }

  func itemIdentifier(_ handle: ElementHandle) -> ItemIdentifier { ItemIdentifier(state.items.id(handle)) }

  func count(_ scope: Scope) -> Int32 { state.list(scope).pointee.tree.currentCount }
}

extension FeedState {
  /// A copy of the current content, as published. O(n), with an allocation or two per element.
  func copyOfCurrent() -> FeedState {
    let copy = FeedState()
    let sectionHandles = currentHandles(.sections)
    let copies = sectionHandles.map { section in
      let handle = copy.makeSettledSection(sections.id(section), sections[section].hash)
      copy.copyContent(sections[section], handle, copy.sections, fields(section: section))
      let settings = list(.items(of: section)).pointee.settings
      copy.list(.items(of: handle)).pointee.settings = settings
      copy.list(.items(of: handle)).pointee.publishedSettings = settings
      return handle
    }
    copy.appendSettled(copies, .sections, checksum: list(.sections).pointee.checksum)
    for (section, sectionCopy) in zip(sectionHandles, copies) {
      let itemCopies = currentHandles(.items(of: section)).map { item in
        let handle = copy.items.createSettled(items.id(item), items[item].hash)
        copy.copyContent(items[item], handle, copy.items, fields(item: item))
        return handle
      }
      let checksum = list(.items(of: section)).pointee.checksum
      copy.appendSettled(itemCopies, .items(of: sectionCopy), checksum: checksum)
    }
    copy.totals = totals
    copy.publishedTotals = totals
    return copy
  }

  private func copyContent(
    _ original: Element,
    _ handle: ElementHandle,
    _ table: ElementTable,
    _ fields: ElementFields
  ) {
    guard original.content.isSet else { return }
    setFirstContent(handle, table, fields, fingerprint: original.content.fingerprint)
  }
}
