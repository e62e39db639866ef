import Feed

/// Finds moves within a list that change nothing: what is not moved has the same elements before it without
/// them.
///
/// Whether a set of moves is one of the fewest depends on the events; that none can be left out by itself
/// does not.
struct IdleMoves {
  /// One list's changes, by position.
  private struct Changes {
    /// What leaves its place, in the base.
    var removed: [Int32] = []
    /// What comes to its place, in the result.
    var placed: [Int32] = []
    var moves: [DecodedEntries.Entry] = []
  }

  static func check(_ entries: DecodedEntries) throws(Violation) {
    if !entries.sections.moves.isEmpty { try check(entries.sections, isOfItems: false) }
    if !entries.items.moves.isEmpty { try check(entries.items, isOfItems: true) }
  }

  private static func check(_ lists: DecodedEntries.Lists, isOfItems: Bool) throws(Violation) {
    var changes: [BytesKey: Changes] = [:]
    for entry in lists.moves where entry.fromSection.hasSameBytes(as: entry.toSection) {
      changes[BytesKey(entry.toSection), default: Changes()].moves.append(entry)
    }
    if changes.isEmpty { return }
    for entry in lists.deletes + lists.moves {
      changes[BytesKey(entry.fromSection)]?.removed.append(entry.from)
    }
    for entry in lists.inserts + lists.moves {
      changes[BytesKey(entry.toSection)]?.placed.append(entry.to)
    }
    for var list in changes.values {
      list.removed.sort()
      list.placed.sort()
      for move in list.moves {
        let before = move.from - count(below: move.from, in: list.removed)
        guard before == move.to - count(below: move.to, in: list.placed) else { continue }
        throw Violation(
          "\((isOfItems ? EntryList.itemMove : .sectionMove).path) lists \(move.id.quotedForMessage()) "
            + "from \(move.from) to \(move.to), which is where it stands without being moved"
        )
      }
    }
  }

  /// How many of sorted numbers are less than one.
  private static func count(below bound: Int32, in sorted: [Int32]) -> Int32 {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < bound { low = middle + 1 } else { high = middle }
    }
    return Int32(low)
  }
}
