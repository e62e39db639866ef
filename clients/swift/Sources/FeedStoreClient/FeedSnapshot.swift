import Foundation

/// The list of a feed as an app wants it, to edit and to apply with `feed.apply(snapshot)`: a value, in the words of
/// `NSDiffableDataSourceSnapshot`.
public struct FeedSnapshot: Sendable {
  /// An item that is added, or other content for one that is there.
  public struct Item: Sendable {
    public var id: ItemID
    public var kind: String?
    public var data: JSONValue?

    public init(_ id: ItemID, kind: String? = nil, data: JSONValue? = nil) {
      (self.id, self.kind, self.data) = (id, kind, data)
    }
  }

  let feed: FeedID
  private(set) var sections: [SectionDraft]
  fileprivate var items: [ItemID: FeedItem]

  init(_ view: FeedView) {
    feed = view.feed
    sections = view.sections.map(SectionDraft.init)
    items = view.state.itemsById
  }

  public var sectionIdentifiers: [SectionID] { sections.map(\.id) }
  public var itemIdentifiers: [ItemID] { sections.flatMap { $0.items.map(\.id) } }
  public var numberOfItems: Int { items.count }
  /// None of a section that is not there.
  public func itemIdentifiers(inSection id: SectionID) -> [ItemID] {
    sections.first { $0.id == id }?.items.map(\.id) ?? []
  }
  public func sectionIdentifier(containingItem id: ItemID) -> SectionID? { items[id]?.section }

  // Items.

  /// Adds items at the end of a section, by default of the last one.
  public mutating func appendItems(_ new: [Item], toSection id: SectionID? = nil) throws(SnapshotError) {
    guard let index = try id.map(index(of:)) ?? sections.indices.last else {
      throw SnapshotError(.unknownSection, "there is no section; append one with appendSections")
    }
    try insert(new, in: index, at: sections[index].items.count)
  }

  public mutating func insertItems(_ new: [Item], beforeItem anchor: ItemID) throws(SnapshotError) {
    let (index, place) = try placed(beside: anchor)
    try insert(new, in: index, at: place)
  }

  public mutating func insertItems(_ new: [Item], afterItem anchor: ItemID) throws(SnapshotError) {
    let (index, place) = try placed(beside: anchor)
    try insert(new, in: index, at: place + 1)
  }

  /// Moves an item before another one, into its section.
  public mutating func moveItem(_ id: ItemID, beforeItem anchor: ItemID) throws(SnapshotError) {
    try move(id, beside: anchor, 0)
  }

  public mutating func moveItem(_ id: ItemID, afterItem anchor: ItemID) throws(SnapshotError) {
    try move(id, beside: anchor, 1)
  }

  /// Removes items. Those that are not there are ignored.
  public mutating func deleteItems(_ ids: [ItemID]) {
    let gone = Set(ids.compactMap { items.removeValue(forKey: $0) })
    for index in sections.indices where !gone.isEmpty {
      sections[index].items.removeAll(where: gone.contains)
    }
  }

  /// Gives items other data, or another kind; what is nil stays.
  public mutating func reconfigureItems(_ changed: [Item]) throws(SnapshotError) {
    for new in changed {
      let (index, place) = try self.place(of: new.id)
      let item = sections[index].items[place].with(kind: new.kind, dataText: new.data?.text)
      sections[index].items[place] = item
      items[new.id] = item
    }
  }

  // Sections.

  public mutating func appendSections(_ ids: [SectionID]) throws(SnapshotError) {
    try insert(ids, at: sections.count)
  }

  public mutating func insertSections(_ ids: [SectionID], beforeSection id: SectionID) throws(SnapshotError) {
    try insert(ids, at: try index(of: id))
  }

  public mutating func insertSections(_ ids: [SectionID], afterSection id: SectionID) throws(SnapshotError) {
    try insert(ids, at: try index(of: id) + 1)
  }

  public mutating func moveSection(_ id: SectionID, beforeSection anchor: SectionID) throws(SnapshotError) {
    try move(id, beside: anchor, 0)
  }

  public mutating func moveSection(_ id: SectionID, afterSection anchor: SectionID) throws(SnapshotError) {
    try move(id, beside: anchor, 1)
  }

  /// Removes sections with their items. Those that are not there are ignored.
  public mutating func deleteSections(_ ids: [SectionID]) {
    let gone = Set(ids)
    for section in sections where gone.contains(section.id) {
      for item in section.items { items[item.id] = nil }
    }
    sections.removeAll { gone.contains($0.id) }
  }

  private func index(of id: SectionID) throws(SnapshotError) -> Int {
    if let index = sections.firstIndex(where: { $0.id == id }) { return index }
    throw SnapshotError(.unknownSection, "there is no section \"\(id)\"; append it with appendSections")
  }

  private func place(of id: ItemID) throws(SnapshotError) -> (section: Int, place: Int) {
    if let item = items[id], let index = sections.firstIndex(where: { $0.id == item.section }),
      let place = sections[index].items.firstIndex(where: { $0 === item })
    {
      return (index, place)
    }
    throw SnapshotError(.unknownItem, "there is no item \"\(id)\"; append it with appendItems")
  }

  /// The place of an item beside which others can be put.
  private func placed(beside anchor: ItemID) throws(SnapshotError) -> (section: Int, place: Int) {
    let found = try place(of: anchor)
    guard sections[found.section].order == nil else {
      let id = sections[found.section].id
      throw SnapshotError(
        .orderedSection,
        "the section \"\(id)\" is ordered, so its data gives an item its place; use appendItems with toSection"
      )
    }
    return found
  }

  private mutating func insert(_ new: [Item], in index: Int, at place: Int) throws(SnapshotError) {
    var made: [FeedItem] = []
    var ids: Set<ItemID> = []
    for item in new {
      guard items[item.id] == nil, ids.insert(item.id).inserted else {
        throw SnapshotError(.duplicateItem, "the item \"\(item.id)\" is there already; move it with moveItem")
      }
      let (kind, data) = (item.kind ?? "", item.data?.text ?? "null")
      made.append(FeedItem(id: item.id, kind: kind, section: sections[index].id, dataText: data))
    }
    sections[index].items.insert(contentsOf: made, at: place)
    for item in made { items[item.id] = item }
  }

  private mutating func move(_ id: ItemID, beside anchor: ItemID, _ offset: Int) throws(SnapshotError) {
    guard id != anchor else {
      throw SnapshotError(.selfMove, "the item \"\(id)\" cannot be moved beside itself; name another one")
    }
    let (from, _) = (try place(of: id), try placed(beside: anchor))
    let removed = sections[from.section].items.remove(at: from.place)
    let (index, place) = try placed(beside: anchor)
    let item = removed.with(section: sections[index].id)
    sections[index].items.insert(item, at: place + offset)
    items[id] = item
  }

  private mutating func insert(_ ids: [SectionID], at place: Int) throws(SnapshotError) {
    var known = Set(sections.map(\.id))
    for id in ids where !known.insert(id).inserted {
      throw SnapshotError(.duplicateSection, "the section \"\(id)\" is there; move it with moveSection")
    }
    sections.insert(contentsOf: ids.map { SectionDraft(id: $0, dataText: "null") }, at: place)
  }

  private mutating func move(_ id: SectionID, beside anchor: SectionID, _ offset: Int) throws(SnapshotError) {
    guard id != anchor else {
      throw SnapshotError(.selfMove, "the section \"\(id)\" cannot be moved beside itself; name another one")
    }
    _ = try index(of: anchor)
    let section = sections.remove(at: try index(of: id))
    sections.insert(section, at: try index(of: anchor) + offset)
  }
}

/// An edit that is not possible, or a snapshot that cannot be applied. Nothing has changed; the message names a remedy.
public struct SnapshotError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable {
    case unknownItem, unknownSection, duplicateItem, duplicateSection, selfMove, orderedSection
    /// The feed cannot be written as a whole: only a window of it is shown, or its state is not known.
    case notWhole, notCurrent, otherFeed
  }

  public let code: Code
  public let message: String

  init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

  public var description: String { message }
}

extension StoreMachine {
  /// The events that make a feed like a snapshot.
  func difference(_ handle: HandleID, _ snapshot: FeedSnapshot) throws -> [FeedEvent] {
    guard let follow = shown(by: handle), follow.feed == snapshot.feed else {
      throw SnapshotError(.otherFeed, "the snapshot is of the feed \"\(snapshot.feed)\"; apply it there")
    }
    guard follow.window == .all else {
      throw SnapshotError(
        .notWhole,
        "only a window of the feed is shown; apply the snapshot to store.feed(id)"
      )
    }
    guard follow.shown.exists, follow.listeners > 0, follow.shown.standing.reason == nil,
      !follow.expectsReload
    else {
      throw SnapshotError(.notCurrent, "the state of the feed is not known; apply when its standing is live")
    }
    return SnapshotDifference(from: follow.shown.state, to: snapshot).events
  }
}

/// The events that make a list like another one, with the fewest moves.
struct SnapshotDifference {
  /// More events are not one record (`limits.maxEvents`).
  static let maxEvents = 10_000
  private(set) var events: [FeedEvent] = []

  init(from old: FeedState, to snapshot: FeedSnapshot) {
    let new = snapshot.sections
    let sections = Set(new.map(\.id))
    for section in old.sections where sections.contains(section.id) {
      for item in section.items where snapshot.items[item.id] == nil { events.append(.delete(item.id)) }
    }
    let kept = Self.kept(new.map(\.id), places: Self.places(old.sections.map(\.id)))
    for (index, section) in new.enumerated() {
      let former = old.sectionsById[section.id]
      let data =
        former.map { haveSameBytes($0.dataText, section.content.text) } ?? false ? nil : section.content
      if !kept.contains(section.id) || data != nil {
        let at: FeedEvent.Place<SectionID>? =
          kept.contains(section.id) ? nil : index == 0 ? .first : .after(new[index - 1].id)
        events.append(.section(section.id, data: data?.text, at: at))
      }
    }
    for section in new { place(section, old) }
    for section in old.sections where !sections.contains(section.id) {
      events.append(.delete(section: section.id))
    }
    if events.count > Self.maxEvents { events = [Self.replacement(old, new)] }
  }

  /// Gives a section its items, from its first one on: each comes after the one before.
  private mutating func place(_ section: SectionDraft, _ old: FeedState) {
    let ids = section.items.map(\.id)
    let places = old.sectionsById[section.id].map { Self.places($0.items.map(\.id)) } ?? [:]
    let kept = section.order == nil ? Self.kept(ids, places: places) : Set(places.keys)
    // Whatever follows the last item that keeps its place goes to the end.
    let end = ids.lastIndex(where: kept.contains) ?? -1
    for (index, item) in section.items.enumerated() {
      let former = old.itemsById[item.id]
      if former === item, kept.contains(item.id) { continue }
      let data = former.map { haveSameBytes($0.dataText, item.dataText) } ?? false ? nil : item.dataText
      let kind = former.map { haveSameBytes($0.kind, item.kind) } ?? item.kind.isEmpty ? nil : item.kind
      let isElsewhere = former?.section != item.section
      var at: FeedEvent.Place<ItemID>?
      if section.order == nil, !kept.contains(item.id), index < end || !isElsewhere {
        at = index > end ? .last : index == 0 ? .first : .after(ids[index - 1])
      }
      let name = isElsewhere ? item.section : nil
      if former == nil || data != nil || kind != nil {
        events.append(.item(item.id, section: name, kind: kind, data: data, at: at))
      } else if isElsewhere || at != nil {
        events.append(.move(item.id, to: name, at: at))
      }
    }
  }

  private static func places<ID: Hashable>(_ ids: [ID]) -> [ID: Int] {
    Dictionary(uniqueKeysWithValues: zip(ids, 0...))
  }

  /// The most elements that can keep their places: a longest increasing subsequence of the former places, in O(n log n).
  private static func kept<ID: Hashable>(_ ids: [ID], places: [ID: Int]) -> Set<ID> {
    let common = ids.compactMap { id in places[id].map { (id: id, place: $0) } }
    // By length, the index of the least last place of an increasing sequence; and of each element the one before it.
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: common.count)
    for (index, element) in common.enumerated() {
      var (low, high) = (0, ends.count)
      if let last = ends.last, common[last].place < element.place { low = high }
      while low < high {
        let middle = (low + high) / 2
        if common[ends[middle]].place < element.place { low = middle + 1 } else { high = middle }
      }
      if low > 0 { before[index] = ends[low - 1] }
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var kept: Set<ID> = []
    var index = ends.last ?? -1
    while index >= 0 {
      kept.insert(common[index].id)
      index = before[index]
    }
    return kept
  }

  /// One event for any number of changes. It is shown when it is published.
  private static func replacement(_ old: FeedState, _ new: [SectionDraft]) -> FeedEvent {
    let sections = new.map { section in
      let items = section.items.map { item in
        let id = JSONValue.quoted(item.id.rawValue)
        if let former = old.itemsById[item.id], former.with(section: item.section).equals(item) { return id }
        return "{\"id\":\(id),\"kind\":\(JSONValue.quoted(item.kind)),\"data\":\(item.dataText)}"
      }
      let id = JSONValue.quoted(section.id.rawValue)
      return "{\"id\":\(id),\"data\":\(section.content.text),\"items\":[\(items.joined(separator: ","))]}"
    }
    return FeedEvent(json: "{\"op\":\"feed.replace\",\"sections\":[\(sections.joined(separator: ","))]}")
  }
}
