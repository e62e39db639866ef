import Feed

/// Checks the lists of a whole difference for faults that a replica tolerates: mode, order, and entries that
/// are empty or contradict each other.
struct EntryCheck {
  private let entries: DecodedEntries
  private let lists: [EntryList]

  init(_ entries: DecodedEntries) {
    self.entries = entries
    lists = EntryList.filled(of: entries)
  }

  // MARK: Mode

  func checkMode(_ mode: ChangesetMode) throws(Violation) {
    if lists.isEmpty { throw Violation("a changeset of mode \"\(mode.rawValue)\" without entries") }
    let other = lists.first { $0.kind != .reconfigure }
    switch (mode, other) {
    case (.reconfigure, let other?):
      throw Violation("the mode is \"reconfigure\" with entries in \(other.path), expected \"diff\"")
    case (.diff, nil):
      throw Violation("the mode is \"diff\" with nothing but reconfigure entries, expected \"reconfigure\"")
    default: break
    }
  }

  // MARK: Identifiers

  /// Checks that no element is in two lists that exclude each other.
  func checkIdentifiers() throws(Violation) {
    try checkDeleted(entries.sections, "sections")
    try checkDeleted(entries.items, "items")
    try checkPositions("sections")
    try checkPositions("items")
    if entries.sections[.delete].isEmpty || entries.items[.delete].isEmpty { return }
    let deleted = Set(entries.sections[.delete].map { BytesKey($0.id) })
    for item in entries.items[.delete] where deleted.contains(BytesKey(item.fromSection)) {
      throw Violation(
        "items.delete lists \(item.id.quotedForMessage()), which goes with its section "
          + item.fromSection.quotedForMessage()
      )
    }
  }

  private func checkDeleted(_ lists: DecodedEntries.Lists, _ group: String) throws(Violation) {
    if lists[.delete].isEmpty || lists[.insert].isEmpty { return }
    let deleted = Set(lists[.delete].map { BytesKey($0.id) })
    for entry in lists[.insert] where deleted.contains(BytesKey(entry.id)) {
      throw Violation("\(entry.id.quotedForMessage()) is in \(group).delete and in \(group).insert")
    }
  }

  /// Checks that no two of a group's lists with contents name the same element. Their positions were checked,
  /// so each element has one position.
  private func checkPositions(_ group: String) throws(Violation) {
    struct Position: Hashable {
      let section: BytesKey
      let index: Int32
    }
    let lists = lists.filter { $0.group == group && $0.kind != .delete && $0.kind != .move }
    guard lists.count > 1 else { return }
    var places: [Position: EntryList] = [:]
    for list in lists {
      for entry in list.entries {
        let place = Position(section: BytesKey(entry.toSection), index: entry.to)
        guard let other = places.updateValue(list, forKey: place) else { continue }
        throw Violation("\(entry.id.quotedForMessage()) is in \(other.path) and in \(list.path)")
      }
    }
  }

  // MARK: Order

  /// Checks the order of the lists that refer to the base, before the difference is applied.
  func checkBaseOrder(_ state: FeedState) throws(Violation) {
    try checkOrder(lists.filter { $0.kind == .delete }, state) { ($0.fromSection, $0.from) }
  }

  /// Checks the order of the other lists, after the difference was applied.
  func checkResultOrder(_ state: FeedState) throws(Violation) {
    try checkOrder(lists.filter { $0.kind != .delete }, state) { ($0.toSection, $0.to) }
  }

  private func checkOrder(
    _ lists: [EntryList],
    _ state: FeedState,
    _ place: (DecodedEntries.Entry) -> (section: ByteSpan, index: Int32)
  ) throws(Violation) {
    for list in lists {
      for (one, other) in zip(list.entries, list.entries.dropFirst()) {
        let (first, second) = (place(one), place(other))
        let isSorted =
          first.section.hasSameBytes(as: second.section)
          ? first.index < second.index : EntryCheck.precedes(first.section, second.section, state)
        if isSorted { continue }
        throw Violation(
          "\(list.path) is not sorted: \(one.id.quotedForMessage()) precedes "
            + "\(other.id.quotedForMessage()), expected after it"
        )
      }
    }
  }

  /// Whether a section precedes another; true if one does not exist, which another check reports.
  private static func precedes(_ one: ByteSpan, _ other: ByteSpan, _ state: FeedState) -> Bool {
    guard let one = state.sectionRank(one), let other = state.sectionRank(other) else { return true }
    return one < other
  }
}

/// A list of a difference: `insert` of `items`.
struct EntryList {
  let group: String
  let kind: EntryKind
  let entries: [DecodedEntries.Entry]

  /// For messages: `items.insert`.
  var path: String { "\(group).\(kind)" }

  /// The lists that are not empty, in the order of the document.
  static func filled(of entries: DecodedEntries) -> [EntryList] {
    [("sections", entries.sections), ("items", entries.items)].flatMap { group, lists in
      EntryKind.allCases.compactMap { kind in
        lists[kind].isEmpty ? nil : EntryList(group: group, kind: kind, entries: lists[kind])
      }
    }
  }
}

/// Finds moves within a list that have no effect: the other elements are already in the resulting order.
///
/// The fewest moves depend on the events, so only single moves are checked.
struct IdleMoves {
  /// One list's changes, by position.
  private struct Changes {
    /// The elements that leave their position, in the base.
    var removed: [Int32] = []
    /// The elements that get a new position, in the result.
    var placed: [Int32] = []
    var moves: [DecodedEntries.Entry] = []
  }

  static func check(_ entries: DecodedEntries) throws(Violation) {
    if !entries.sections[.move].isEmpty { try check(entries.sections, "sections") }
    if !entries.items[.move].isEmpty { try check(entries.items, "items") }
  }

  private static func check(_ lists: DecodedEntries.Lists, _ group: String) throws(Violation) {
    var changes: [BytesKey: Changes] = [:]
    for entry in lists[.move] where entry.fromSection.hasSameBytes(as: entry.toSection) {
      changes[BytesKey(entry.toSection), default: Changes()].moves.append(entry)
    }
    if changes.isEmpty { return }
    for entry in lists[.delete] + lists[.move] {
      changes[BytesKey(entry.fromSection)]?.removed.append(entry.from)
    }
    for entry in lists[.insert] + lists[.move] {
      changes[BytesKey(entry.toSection)]?.placed.append(entry.to)
    }
    for var list in changes.values {
      list.removed.sort()
      list.placed.sort()
      for move in list.moves {
        let before = move.from - count(below: move.from, in: list.removed)
        guard before == move.to - count(below: move.to, in: list.placed) else { continue }
        throw Violation(
          "\(group).move lists \(move.id.quotedForMessage()) "
            + "from \(move.from) to \(move.to), its position without the move"
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
