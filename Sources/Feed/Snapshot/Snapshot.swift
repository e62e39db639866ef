/// The content of a feed at one moment: its sections, their items, and the order of both.
///
/// The vocabulary and the rules are those of UIKit's `NSDiffableDataSourceSnapshot`, with content
/// beside the identifiers: an item has a kind and data, a section has data. Where UIKit raises an
/// exception, a snapshot throws a ``SnapshotError``.
///
/// A snapshot is a value. Copies share their storage until one of them is edited, which then copies
/// it, in O(n) for a snapshot of n elements. An edit of storage that is not shared takes O(log n) for
/// each element it names. Edits are all or nothing: one that throws leaves the snapshot as it was.
///
/// ```swift
/// var snapshot = Snapshot()
/// try snapshot.appendSections(["top", "new"])
/// try snapshot.appendItems(["a", "b"], toSection: "top")
/// try snapshot.appendItems([Snapshot.Item("c", kind: "story")], toSection: "new")
/// let before = snapshot
/// try snapshot.moveItem("c", beforeItem: "b")
/// let difference = snapshot.difference(from: before)  // one move
/// ```
public struct Snapshot: Sendable {
  private(set) var storage: SnapshotStorage

  /// A snapshot without sections and items.
  public init() { storage = SnapshotStorage(FeedState(), digests: ItemDigests()) }

  /// The current content of a state. O(n).
  init(copying state: FeedState) {
    let copy = state.copyOfCurrent()
    storage = SnapshotStorage(copy, digests: ItemDigests(of: copy))
  }

  /// A snapshot of what somebody else holds too, and copies before changing it.
  init(sharing storage: SnapshotStorage) { self.storage = storage }

  var state: FeedState { storage.state }

  /// Edits storage of its own, all or nothing. The body changes marks only once it cannot fail
  /// any more.
  mutating func edit<Failure: Error>(
    _ body: (SnapshotStorage) throws(Failure) -> Void
  ) throws(Failure) {
    if !isKnownUniquelyReferenced(&storage) { storage = storage.copy(hasDigests: true) }
    do throws(Failure) {
      try body(storage)
    } catch {
      storage.state.rollBack()
      throw error
    }
    storage.confirm()
  }

  /// Whether both have the same sections and items in the same order with the same content. What is
  /// marked for reloading or reconfiguring is not compared. O(n).
  public func hasSameContent(as other: Snapshot) -> Bool {
    guard storage !== other.storage else { return true }
    guard state.totals == other.state.totals else { return false }
    return SnapshotComparison(from: other.storage, to: storage, marks: SnapshotMarks()).difference().isEmpty
  }

  /// Removes all sections and items, as UIKit does. O(1) if the storage is shared, otherwise O(n).
  public mutating func deleteAllItems() { storage = SnapshotStorage(FeedState(), digests: ItemDigests()) }

  /// Checks everything that is kept incrementally; for tests.
  func checkInvariants() { storage.checkInvariants() }
}
