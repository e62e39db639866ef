import Feed

/// Checks the lists of a whole difference for what a replica tolerates: mode, order, and entries that say
/// nothing or contradict each other.
struct EntryCheck {
  private let entries: DecodedEntries

  init(_ entries: DecodedEntries) {
    self.entries = entries
  }

  // MARK: Mode

  func checkMode(_ mode: ChangesetMode) throws(Violation) {
    let filled = (EntryList.ofSections + EntryList.ofItems).filter { !$0.entries(of: entries).isEmpty }
    if filled.isEmpty { throw Violation("a changeset of mode \"\(mode.rawValue)\" without entries") }
    let other = filled.first { $0 != .sectionReconfigure && $0 != .itemReconfigure }
    switch (mode, other) {
    case (.reconfigure, let other?):
      throw Violation("the mode is \"reconfigure\" with entries in \(other.path), expected \"diff\"")
    case (.diff, nil):
      throw Violation("the mode is \"diff\" with nothing but reconfigure entries, expected \"reconfigure\"")
    default: break
    }
  }

  // MARK: Identifiers

  /// What stands in two lists that do not go together.
  func checkIdentifiers() throws(Violation) {
    try checkDeleted(entries.sections, "sections")
    try checkDeleted(entries.items, "items")
    try checkPositions([.sectionInsert, .sectionReconfigure, .sectionReload])
    try checkPositions([.itemInsert, .itemReconfigure, .itemReload])
    if entries.sections.deletes.isEmpty || entries.items.deletes.isEmpty { return }
    let deleted = Set(entries.sections.deletes.map { BytesKey($0.id) })
    for item in entries.items.deletes where deleted.contains(BytesKey(item.fromSection)) {
      throw Violation(
        "items.delete lists \(item.id.quotedForMessage()), which goes with its section "
          + item.fromSection.quotedForMessage()
      )
    }
  }

  private func checkDeleted(_ lists: DecodedEntries.Lists, _ group: String) throws(Violation) {
    if lists.deletes.isEmpty || lists.inserts.isEmpty { return }
    let deleted = Set(lists.deletes.map { BytesKey($0.id) })
    for entry in lists.inserts where deleted.contains(BytesKey(entry.id)) {
      throw Violation("\(entry.id.quotedForMessage()) stands in \(group).delete and in \(group).insert")
    }
  }

  /// No two of these lists may name one element. Their positions are known to be right, so that one element
  /// is one place.
  private func checkPositions(_ lists: [EntryList]) throws(Violation) {
    struct Place: Hashable {
      let section: BytesKey
      let index: Int32
    }
    guard lists.count(where: { !$0.entries(of: entries).isEmpty }) > 1 else { return }
    var places: [Place: EntryList] = [:]
    for list in lists {
      for entry in list.entries(of: entries) {
        let place = Place(section: BytesKey(entry.toSection), index: entry.to)
        guard let other = places.updateValue(list, forKey: place) else { continue }
        throw Violation("\(entry.id.quotedForMessage()) stands in \(other.path) and in \(list.path)")
      }
    }
  }

  // MARK: Order

  /// Checks the order of the lists that count in the base, before the difference is applied.
  func checkBaseOrder(_ state: FeedState) throws(Violation) {
    try checkOrder([.sectionDelete, .itemDelete], state) { ($0.fromSection, $0.from) }
  }

  /// Checks the order of the other lists, after the difference was applied.
  func checkResultOrder(_ state: FeedState) throws(Violation) {
    let lists: [EntryList] = [
      .sectionInsert, .sectionMove, .sectionReconfigure, .sectionReload, .itemInsert, .itemMove,
      .itemReconfigure, .itemReload,
    ]
    try checkOrder(lists, state) { ($0.toSection, $0.to) }
  }

  private func checkOrder(
    _ lists: [EntryList],
    _ state: FeedState,
    _ place: (DecodedEntries.Entry) -> (section: ByteSpan, index: Int32)
  ) throws(Violation) {
    for list in lists {
      let entries = list.entries(of: entries)
      for (one, other) in zip(entries, entries.dropFirst()) {
        let (first, second) = (place(one), place(other))
        let isSorted =
          first.section.hasSameBytes(as: second.section)
          ? first.index < second.index : EntryCheck.precedes(first.section, second.section, state)
        if isSorted { continue }
        throw Violation(
          "\(list.path) is not sorted: \(one.id.quotedForMessage()) stands before "
            + "\(other.id.quotedForMessage()), expected after it"
        )
      }
    }
  }

  /// Whether a section stands before another; true where one is not there, which is told elsewhere.
  private static func precedes(_ one: ByteSpan, _ other: ByteSpan, _ state: FeedState) -> Bool {
    guard let one = state.sectionRank(one), let other = state.sectionRank(other) else { return true }
    return one < other
  }
}
