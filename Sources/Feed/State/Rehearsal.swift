/// Finds out whether an event of a record will be rejected, without changing the feed.
///
/// A record that takes lists out of a feed takes time for each of their elements, and as much again to undo everything if a
/// later event is rejected. A short record could cause that as often as it is sent. So a record that takes out many more
/// elements than it names is rehearsed first. That takes time only for its events, the elements that they list
/// and the data that they patch: it follows which of these elements exist, and in which section.
struct Rehearsal {
  private let state: FeedState
  private let decoder: RecordDecoder
  /// How much data may still be patched.
  private var patchedBytesLeft: Int
  /// The sections and items that events have named so far. Others are as in the feed, unless their lists were taken out.
  private var sections: [BytesKey: Section] = [:]
  private var items: [BytesKey: Item] = [:]
  /// How many sections there are.
  private(set) var sectionCount: Int
  /// The turn of the event that last took out everything; 0 if none did.
  private var cleared = 0
  /// The current event's turn: the first event has 1, and what was in the feed before has 0.
  private var turn = 0

  private struct Section {
    /// The turn in which it was created; nil if it does not exist.
    var created: Int?
    /// The turn in which its items were taken out last.
    var emptied = 0
  }

  private struct Item {
    var section: ByteSpan
    /// The turn in which it was put there; -1 if it was deleted. It is gone if its list was taken out later.
    var placed: Int
    var data: ByteSpan
    /// Holds data that a patch has made.
    var owner: OwnedSpan?

    static var deleted: Item { Item(section: .empty, placed: -1, data: .empty) }
  }

  /// - Parameters:
  ///   - state: the feed before the first event that is rehearsed; not changed while this lives.
  ///   - decoder: holds the record's events.
  ///   - mostPatchedBytes: gives up after patches have made so many bytes.
  init(_ state: FeedState, _ decoder: RecordDecoder, mostPatchedBytes: Int) {
    self.state = state
    self.decoder = decoder
    patchedBytesLeft = mostPatchedBytes
    sectionCount = state.sectionCount
  }

  /// Rehearses the events from `first` on.
  ///
  /// - Returns: false if it gave up, so that later events may be rejected.
  /// - Throws: what `FeedState.apply` throws for the first event that is rejected.
  mutating func run(from first: Int) throws(Rejection) -> Bool {
    for number in first..<decoder.events.count {
      turn += 1
      try rehearse(decoder.events[number], decoder.isArray ? number : nil)
      if patchedBytesLeft < 0 { return false }
    }
    return true
  }

  private mutating func rehearse(_ event: Event, _ number: Int?) throws(Rejection) {
    switch event.operation {
    case .feedReplace: replaceAll(event)
    case .feedClear, .feedDelete:
      cleared = turn
      sectionCount = 0
    case .feedReload, .sectionReload, .itemReconfigure, .itemReload: break
    case .sectionUpsert: try putSection(event, number)
    case .sectionReplace:
      try putSection(event, number)
      // Before the list is emptied, as items that are in it keep their data.
      putItems(event.items, in: event.section)
      sections[BytesKey(event.section)] = Section(created: section(event.section).created, emptied: turn)
    case .sectionMove: if exists(event.section) { try putSection(event, number) }
    case .sectionDelete:
      guard exists(event.section) else { return }
      sections[BytesKey(event.section)] = Section(created: nil, emptied: turn)
      sectionCount -= 1
    case .itemUpsert: try putItem(event, item(event.item), number)
    case .itemMove: if let item = item(event.item) { try putItem(event, item, number) }
    case .itemPatch:
      guard var item = item(event.item) else { return }
      let patched = try FeedState.patched(item.data, by: event, decoder, number)
      patchedBytesLeft -= patched.count
      if patched.hasSameBytes(as: item.data) { return }
      let owner = OwnedSpan(patched)
      (item.data, item.owner) = (owner.span, owner)
      items[BytesKey(event.item)] = item
    case .itemDelete: items[BytesKey(event.item)] = .deleted
    }
  }

  // MARK: What exists

  private func section(_ id: ByteSpan) -> Section {
    sections[BytesKey(id)] ?? Section(created: state.sections.findPresent(id).map { _ in 0 })
  }

  private func exists(_ section: ByteSpan) -> Bool {
    guard let created = self.section(section).created else { return false }
    return created >= cleared
  }

  /// The item of that id, if it exists.
  private func item(_ id: ByteSpan) -> Item? {
    guard let item = items[BytesKey(id)] ?? itemBefore(id),
      item.placed >= max(cleared, section(item.section).emptied)
    else { return nil }
    return item
  }

  private func itemBefore(_ id: ByteSpan) -> Item? {
    guard let handle = state.items.findPresent(id) else { return nil }
    let section = state.sections.id(state.items[handle].scope.section)
    return Item(section: section, placed: 0, data: state.items[handle].data)
  }

  // MARK: Changes

  /// Rejects a place next to an element that is not in the list, or that is the element itself.
  private func check(_ place: Place?, _ number: Int?, isAnchor: (ByteSpan) -> Bool) throws(Rejection) {
    switch place {
    case .before(let anchor):
      if !isAnchor(anchor) { throw FeedState.unknownAnchor(anchor, "at.before", number) }
    case .after(let anchor):
      if !isAnchor(anchor) { throw FeedState.unknownAnchor(anchor, "at.after", number) }
    default: return
    }
  }

  private mutating func putSection(_ event: Event, _ number: Int?) throws(Rejection) {
    try check(event.place, number) { !$0.hasSameBytes(as: event.section) && exists($0) }
    create(event.section)
  }

  /// Lets a section exist from this turn on.
  private mutating func put(_ id: ByteSpan) {
    sections[BytesKey(id)] = Section(created: turn, emptied: section(id).emptied)
  }

  /// Creates a section, if it does not exist.
  private mutating func create(_ id: ByteSpan) {
    if exists(id) { return }
    put(id)
    sectionCount += 1
  }

  private mutating func putItem(_ event: Event, _ known: Item?, _ number: Int?) throws(Rejection) {
    var section = event.section
    if section.isEmpty {
      guard let known else { throw FeedState.missingSection(ofNew: event.item, number) }
      section = known.section
    }
    try check(event.place, number) { anchor in
      !anchor.hasSameBytes(as: event.item) && item(anchor)?.section.hasSameBytes(as: section) == true
    }
    create(section)
    put(event.item, in: section, data: event.operation == .itemUpsert ? event.data : nil, known)
  }

  /// - Parameter data: nil keeps what the item has.
  private mutating func put(_ id: ByteSpan, in section: ByteSpan, data: ByteSpan?, _ known: Item?) {
    var item = known ?? Item(section: section, placed: turn, data: FeedState.null)
    (item.section, item.placed) = (section, turn)
    if let data { (item.data, item.owner) = (data, nil) }
    items[BytesKey(id)] = item
  }

  private mutating func putItems(_ listed: Range<Int>, in section: ByteSpan) {
    for listed in decoder.items[listed] { put(listed.id, in: section, data: listed.data, item(listed.id)) }
  }

  private mutating func replaceAll(_ event: Event) {
    for section in decoder.sections[event.sections] {
      put(section.id)
      putItems(section.items, in: section.id)
    }
    // Only now, as items that are listed keep their data.
    cleared = turn
    sectionCount = event.sections.count
  }
}
