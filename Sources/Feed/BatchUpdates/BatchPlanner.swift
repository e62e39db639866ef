/// Divides a difference into the stages of ``BatchUpdates``.
struct BatchPlanner {
  private let difference: SnapshotDifference
  private let old: Snapshot
  private let new: Snapshot
  private let insertedSections: Set<SectionIdentifier>
  /// Inserted sections that items move into.
  private let openedSections: Set<SectionIdentifier>

  init(_ difference: SnapshotDifference, from old: Snapshot, to new: Snapshot) {
    self.difference = difference
    self.old = old
    self.new = new
    let inserted = Set(difference.sections.inserts.map(\.id))
    insertedSections = inserted
    openedSections = Set(difference.items.moves.map(\.to.section).filter(inserted.contains))
  }

  // MARK: Structure

  /// What is deleted, inserted and moved.
  func structure() throws(SnapshotError) -> [BatchStage] {
    let deleted = Set(difference.sections.deletes.map(\.id))
    let isLeaving = difference.items.moves.contains { deleted.contains($0.from.section) }
    let hasItems =
      !(difference.items.deletes.isEmpty && difference.items.inserts.isEmpty
      && difference.items.moves.isEmpty)
    guard isLeaving || !openedSections.isEmpty || (hasItems && !difference.sections.moves.isEmpty) else {
      return [try together()]
    }
    let opening = try opening()
    let items = try items(after: opening.snapshot)
    return [opening, items, try sections(after: items.snapshot)]
  }

  /// All of it in one stage.
  private func together() throws(SnapshotError) -> BatchStage {
    var stage = BatchStage(snapshot: new)
    stage.deletedSections = difference.sections.deletes.map(\.index)
    stage.insertedSections = difference.sections.inserts.map(\.index)
    stage.movedSections = difference.sections.moves.map { BatchStage.SectionMove(from: $0.from, to: $0.to) }
    try addItems(to: &stage, from: old, to: new)
    return stage
  }

  /// Empty sections for items to move into, behind those that stay where they are.
  private func opening() throws(SnapshotError) -> BatchStage {
    var opened = old
    let moved = Set(difference.sections.moves.map(\.id))
    var previous: SectionIdentifier?
    for section in new.sectionIdentifiers {
      if openedSections.contains(section) {
        if let previous {
          try opened.insertSections([section], afterSection: previous)
        } else if let first = opened.sectionIdentifiers.first {
          try opened.insertSections([section], beforeSection: first)
        } else {
          try opened.appendSections([section])
        }
        try opened.setData(new.data(ofSection: section) ?? .null, ofSection: section)
      } else if insertedSections.contains(section) || moved.contains(section) {
        continue
      }
      previous = section
    }
    var stage = BatchStage(snapshot: opened)
    stage.insertedSections = openedSections.compactMap(opened.indexOfSection).sorted()
    return stage
  }

  /// Items, between sections that stay.
  private func items(after opened: Snapshot) throws(SnapshotError) -> BatchStage {
    var changes = SnapshotDifference()
    changes.items.deletes = difference.items.deletes
    changes.items.inserts = difference.items.inserts.filter { isListed($0) }
    changes.items.moves = difference.items.moves
    var stage = BatchStage(snapshot: try opened.applying(changes))
    try addItems(to: &stage, from: opened, to: stage.snapshot)
    return stage
  }

  /// Sections, with the items that they have by now.
  private func sections(after items: Snapshot) throws(SnapshotError) -> BatchStage {
    var stage = BatchStage(snapshot: new)
    for delete in difference.sections.deletes { stage.deletedSections.append(try index(delete.id, items)) }
    for insert in difference.sections.inserts where !openedSections.contains(insert.id) {
      stage.insertedSections.append(insert.index)
    }
    for move in difference.sections.moves {
      stage.movedSections.append(BatchStage.SectionMove(from: try index(move.id, items), to: move.to))
    }
    return stage
  }

  /// The item entries, as paths in two snapshots.
  private func addItems(
    to stage: inout BatchStage,
    from before: Snapshot,
    to after: Snapshot
  ) throws(SnapshotError) {
    for delete in difference.items.deletes {
      stage.deletedItems.append(try path(delete.position, before))
    }
    for insert in difference.items.inserts where isListed(insert) {
      stage.insertedItems.append(try path(insert.position, after))
    }
    for move in difference.items.moves {
      stage.movedItems.append(
        BatchStage.ItemMove(from: try path(move.from, before), to: try path(move.to, after))
      )
    }
  }

  /// Whether an inserted item is told by itself, and not by its section.
  private func isListed(_ insert: ItemChanges.Entry) -> Bool {
    let section = insert.position.section
    return !insertedSections.contains(section) || openedSections.contains(section)
  }

  // MARK: Content

  /// What is reconfigured and reloaded.
  func content() throws(SnapshotError) -> BatchStage {
    var stage = BatchStage(snapshot: new)
    stage.reconfiguredSections = difference.sections.reconfigures.map(\.index)
    stage.reloadedSections = difference.sections.reloads.map(\.index)
    let reloaded = Set(difference.sections.reloads.map(\.id))
    for entry in difference.items.reconfigures where !reloaded.contains(entry.position.section) {
      stage.reconfiguredItems.append(try path(entry.position, new))
    }
    for entry in difference.items.reloads where !reloaded.contains(entry.position.section) {
      stage.reloadedItems.append(try path(entry.position, new))
    }
    return stage
  }

  // MARK: Places

  private func path(_ position: ItemPosition, _ snapshot: Snapshot) throws(SnapshotError) -> ItemPath {
    ItemPath(section: try index(position.section, snapshot), item: position.index)
  }

  private func index(
    _ section: SectionIdentifier,
    _ snapshot: Snapshot
  ) throws(SnapshotError) -> Int {
    guard let index = snapshot.indexOfSection(section) else {
      throw .mismatch("there is no section \(section.text.quotedForMessage)")
    }
    return index
  }
}
