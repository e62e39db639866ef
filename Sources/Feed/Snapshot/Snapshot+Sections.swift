extension Snapshot {
  /// Adds sections after the last one, without items and with null data.
  ///
  /// - Throws: ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k sections.
  public mutating func appendSections(_ sections: [SectionIdentifier]) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      try storage.insert(sections, at: Rank(storage.count(.sections)))
    }
  }

  /// Adds sections before another, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection`` if there is no such section to insert before;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k sections.
  public mutating func insertSections(
    _ sections: [SectionIdentifier],
    beforeSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      try storage.insert(sections, at: storage.rank(try storage.knownSection(anchor)))
    }
  }

  /// Adds sections after another, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection`` if there is no such section to insert after;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k sections.
  public mutating func insertSections(
    _ sections: [SectionIdentifier],
    afterSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      try storage.insert(sections, at: storage.rank(try storage.knownSection(anchor)) + 1)
    }
  }

  /// Removes sections with their items. As in UIKit, unknown sections are ignored.
  ///
  /// - Complexity: O(log n) for each section, and O(m) for its m items.
  public mutating func deleteSections(_ sections: [SectionIdentifier]) {
    edit { storage in
      for section in sections {
        if let handle = storage.section(section) { storage.delete(section: handle) }
      }
    }
  }

  /// Moves a section, with its items, before another.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection`` if either is not there;
  ///   ``SnapshotError/Code/selfMove`` if both are the same.
  /// - Complexity: O(log n).
  public mutating func moveSection(
    _ section: SectionIdentifier,
    beforeSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try move(section, to: anchor, isAfter: false)
  }

  /// Moves a section, with its items, after another.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection`` if either is not there;
  ///   ``SnapshotError/Code/selfMove`` if both are the same.
  /// - Complexity: O(log n).
  public mutating func moveSection(
    _ section: SectionIdentifier,
    afterSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try move(section, to: anchor, isAfter: true)
  }

  private mutating func move(
    _ section: SectionIdentifier,
    to anchor: SectionIdentifier,
    isAfter: Bool
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let handle = try storage.knownSection(section)
      let anchorHandle = try storage.knownSection(anchor)
      guard handle != anchorHandle else { throw .selfMove("section", section.text) }
      storage.move(handle, to: anchorHandle, isAfter: isAfter, isItem: false)
    }
  }
}

extension SnapshotStorage {
  /// Where a section stands.
  fileprivate func rank(_ section: ElementHandle) -> Rank { state.currentRank(section, .sections) }

  /// Inserts new sections one after the other.
  fileprivate func insert(_ sections: [SectionIdentifier], at rank: Rank) throws(SnapshotError) {
    var rank = rank
    for section in sections {
      let handle = try makeSection(section)
      state.setContent(section: handle, .ofNewSection)
      state.attach(handle, .sections, at: rank)
      rank += 1
    }
  }
}
