/// What turns one snapshot into another: the entries of a changeset (protocol, section 4.2).
///
/// Nothing is listed that did not change, unless it was marked; moves are the fewest possible.
/// Deleting a section deletes the items still in it without listing them, an item that leaves it is a
/// move, and an inserted section is empty until inserts and moves fill it. The same two snapshots
/// give the same difference, whatever edits led to them.
public struct SnapshotDifference: Sendable, Hashable {
  /// What happened to sections.
  public var sections: SectionChanges
  /// What happened to items.
  public var items: ItemChanges

  /// Makes a difference; by default one that changes nothing.
  public init(sections: SectionChanges = SectionChanges(), items: ItemChanges = ItemChanges()) {
    self.sections = sections
    self.items = items
  }

  /// Whether nothing has changed.
  public var isEmpty: Bool { sections.isEmpty && items.isEmpty }

  /// How many entries there are.
  public var count: Int { sections.count + items.count }
}
