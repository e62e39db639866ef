/// What distinguishes a feed's current state from its published one, in handles and positions.
///
/// Positions of `delete` and `from` count in the published state, all others in the current one.
/// Every list is sorted: `deletes` by published position, the others by current position.
struct FeedDifference {
  /// A section or an item with the positions that its list of entries has. For sections the
  /// section scopes mean nothing.
  struct Entry {
    var handle: UInt32
    var fromSection: UInt32 = 0
    var from: Int32 = 0
    var toSection: UInt32 = 0
    var to: Int32 = 0
    /// Section order, then index.
    var sortKey: UInt64 = 0
  }

  /// The entries of either the sections or the items.
  struct Entries {
    var deletes: [Entry] = []
    var inserts: [Entry] = []
    var moves: [Entry] = []
    var reconfigures: [Entry] = []
    var reloads: [Entry] = []

    /// Entries other than reconfigures.
    var weight: Int { deletes.count + inserts.count + moves.count + reloads.count }
    var isEmpty: Bool { weight == 0 && reconfigures.isEmpty }

    mutating func sort() {
      Entries.sort(&deletes)
      Entries.sort(&inserts)
      Entries.sort(&moves)
      Entries.sort(&reconfigures)
      Entries.sort(&reloads)
    }

    private static func sort(_ entries: inout [Entry]) {
      var at = 1
      while at < entries.count, entries[at - 1].sortKey < entries[at].sortKey { at += 1 }
      if at < entries.count { entries.sort { $0.sortKey < $1.sortKey } }
    }
  }

  var sections = Entries()
  var items = Entries()

  /// The planner's weight: entries other than reconfigures.
  var weight: Int { sections.weight + items.weight }
  var isEmpty: Bool { sections.isEmpty && items.isEmpty }
  /// Whether there is nothing but reconfigures.
  var isReconfigureOnly: Bool { weight == 0 }
}
