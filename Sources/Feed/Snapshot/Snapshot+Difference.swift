extension Snapshot {
  /// What turns another snapshot into this one, with the entries that this one's marks ask for.
  ///
  /// A mark adds nothing for what the difference inserts. The other snapshot's marks do not count.
  ///
  /// - Complexity: O(n) for snapshots of n elements, O(n log n) where much has moved. O(s + k log n) for s sections if one was
  ///   copied from the other, or both from a third, and k items were edited in these two since, up to one in 32. O(1) if
  ///   neither was edited and nothing is marked.
  public func difference(from other: Snapshot) -> SnapshotDifference {
    if storage === other.storage, storage.marks.isEmpty { return SnapshotDifference() }
    let comparison = SnapshotComparison(from: other.storage, to: storage, marks: storage.marks)
    if let edited = storage.edits(since: other.storage) { return comparison.difference(among: edited) }
    return comparison.difference()
  }

  /// The same, found by a comparison of everything, of all bytes unless by digests; for tests.
  func differenceOfEverything(from other: Snapshot, byDigests: Bool = false) -> SnapshotDifference {
    SnapshotComparison(from: other.storage, to: storage, marks: storage.marks, byDigests: byDigests)
      .difference()
  }

  /// Applies a difference that starts from this snapshot's content. Nothing is marked afterwards: what
  /// the marks asked for was in the difference.
  ///
  /// - Throws: ``SnapshotError/Code/mismatch`` if an entry names what is not there, is there already, or
  ///   stands elsewhere; the snapshot is then as it was.
  /// - Complexity: O(k log n) for k entries and their sections' deleted items.
  public mutating func apply(_ difference: SnapshotDifference) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let bytes = DifferenceBytes()
      let entries = bytes.entries(of: difference)
      do throws(ReplicaFault) {
        try storage.state.apply(entries)
      } catch {
        throw .mismatch(error.message)
      }
      try storage.checkPlaces(of: entries)
      withExtendedLifetime(bytes) {}
      storage.marks = SnapshotMarks()
    }
  }

  /// The result of applying a difference that starts from this snapshot's content.
  ///
  /// - Throws: ``SnapshotError/Code/mismatch`` if an entry names what is not there, is there already, or
  ///   stands elsewhere.
  /// - Complexity: O(n), as the snapshot is copied.
  public func applying(_ difference: SnapshotDifference) throws(SnapshotError) -> Snapshot {
    var result = self
    try result.apply(difference)
    return result
  }
}

extension SnapshotStorage {
  /// Checks that everything that was placed has the position its entry says, which it has not if two
  /// entries name the same place.
  fileprivate func checkPlaces(of entries: DecodedEntries) throws(SnapshotError) {
    for (lists, table) in [(entries.sections, state.sections), (entries.items, state.items)] {
      for entry in lists.inserts + lists.moves {
        guard let handle = table.findPresent(entry.id) else { continue }
        let rank = state.currentRank(handle, table[handle].scope)
        guard rank.number == entry.to else {
          throw .mismatch("\(entry.id.quotedForMessage()) comes to position \(rank), expected \(entry.to)")
        }
      }
    }
  }
}

extension SnapshotError {
  static func mismatch(_ problem: String) -> SnapshotError {
    SnapshotError(
      .mismatch,
      "the difference does not start from this snapshot, take another from it: \(problem)"
    )
  }
}
