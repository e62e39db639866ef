/// The elements that a snapshot's next difference lists even if nothing about them changed, by
/// handle.
struct SnapshotMarks {
  private(set) var reloadedItems: Set<UInt32> = []
  private(set) var reconfiguredItems: Set<UInt32> = []
  private(set) var reloadedSections: Set<UInt32> = []

  var isEmpty: Bool { reloadedItems.isEmpty && reconfiguredItems.isEmpty && reloadedSections.isEmpty }

  mutating func reload(item handle: UInt32) {
    reloadedItems.insert(handle)
    reconfiguredItems.remove(handle)
  }

  /// A reload replaces a reconfigure, whichever was asked for first.
  mutating func reconfigure(item handle: UInt32) {
    if !reloadedItems.contains(handle) { reconfiguredItems.insert(handle) }
  }

  mutating func reload(section handle: UInt32) { reloadedSections.insert(handle) }

  /// Forgets an item, because it is deleted.
  mutating func forget(item handle: UInt32) {
    reloadedItems.remove(handle)
    reconfiguredItems.remove(handle)
  }

  /// Forgets a section, because it is deleted; its items are forgotten one by one.
  mutating func forget(section handle: UInt32) { reloadedSections.remove(handle) }

  /// The same marks for a copy, whose handles are others.
  func translated(item: (UInt32) -> UInt32?, section: (UInt32) -> UInt32?) -> SnapshotMarks {
    SnapshotMarks(
      reloadedItems: Set(reloadedItems.compactMap(item)),
      reconfiguredItems: Set(reconfiguredItems.compactMap(item)),
      reloadedSections: Set(reloadedSections.compactMap(section))
    )
  }
}
