/// The elements that a snapshot's next difference lists even if nothing about them changed, by
/// handle.
struct SnapshotMarks {
  private(set) var reloadedItems: Set<ElementHandle> = []
  private(set) var reconfiguredItems: Set<ElementHandle> = []
  private(set) var reloadedSections: Set<ElementHandle> = []

  var isEmpty: Bool { reloadedItems.isEmpty && reconfiguredItems.isEmpty && reloadedSections.isEmpty }

  mutating func reload(item handle: ElementHandle) {
    reloadedItems.insert(handle)
    reconfiguredItems.remove(handle)
  }

  /// A reload replaces a reconfigure, whichever was asked for first.
  mutating func reconfigure(item handle: ElementHandle) {
    if !reloadedItems.contains(handle) { reconfiguredItems.insert(handle) }
  }

  mutating func reload(section handle: ElementHandle) { reloadedSections.insert(handle) }

  /// Forgets an item, because it is deleted.
  mutating func forget(item handle: ElementHandle) {
    reloadedItems.remove(handle)
    reconfiguredItems.remove(handle)
  }

  /// Forgets a section, because it is deleted; its items are forgotten one by one.
  mutating func forget(section handle: ElementHandle) { reloadedSections.remove(handle) }

  /// The same marks for a copy, whose handles are others.
  func translated(
    item: (ElementHandle) -> ElementHandle?,
    section: (ElementHandle) -> ElementHandle?
  ) -> SnapshotMarks {
    SnapshotMarks(
      reloadedItems: Set(reloadedItems.compactMap(item)),
      reconfiguredItems: Set(reconfiguredItems.compactMap(item)),
      reloadedSections: Set(reloadedSections.compactMap(section))
    )
  }
}
