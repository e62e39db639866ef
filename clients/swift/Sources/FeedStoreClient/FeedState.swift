/// The elements of a feed in order and by id, with their checksum. A value: a copy stays as it is.
struct FeedState: Sendable {
  private(set) var sections: [FeedSection] = []
  private(set) var sectionsById: [SectionID: FeedSection] = [:]
  private(set) var itemsById: [ItemID: FeedItem] = [:]
  private(set) var checksum: UInt32 = 0

  init() {}

  /// The state that a reload describes. Elements that are as in `former` are the same objects.
  init(reload parts: [Changeset], reusing former: FeedState) throws {
    var drafts: [SectionDraft] = []
    var ids: Set<SectionID> = []
    for entry in try parts.flatMap({ try ChangesetEntry.list($0.body["sections"], "sections") }) {
      let id = SectionID(try entry.id())
      // A section that continues from the previous part is listed again, without its data.
      if entry.object["data"] != nil || drafts.last?.id != id {
        guard ids.insert(id).inserted else { throw Self.exists(id.rawValue) }
        drafts.append(try entry.section())
      }
      for listed in try ChangesetEntry.list(entry.object["items"], "items") {
        let item = former.reused(try listed.item(in: id))
        guard itemsById.updateValue(item, forKey: item.id) == nil else { throw Self.exists(item.id.rawValue) }
        drafts[drafts.count - 1].items.append(item)
      }
    }
    setTotals(parts[0].totals, in: &drafts)
    takeSections(drafts, reusing: former)
    checksum = Self.checksum(of: sections)
  }

  /// A state that others have made from drafts; its checksum is not computed.
  init(drafts: [SectionDraft], reusing former: FeedState) {
    takeSections(drafts, reusing: former)
    for item in sections.lazy.flatMap(\.items) { itemsById[item.id] = item }
  }

  /// The former object, if it is as this one.
  func reused(_ item: FeedItem) -> FeedItem {
    guard let former = itemsById[item.id], former.equals(item) else { return item }
    return former
  }

  private mutating func takeSections(_ drafts: [SectionDraft], reusing former: FeedState) {
    sections = drafts.map { draft in
      let section = FeedSection(draft)
      guard let former = former.sectionsById[draft.id], former.equals(section) else { return section }
      return former
    }
    sectionsById = Dictionary(uniqueKeysWithValues: sections.map { ($0.id, $0) })
  }

  private func setTotals(_ totals: [WindowTotal], in drafts: inout [SectionDraft]) {
    guard !totals.isEmpty else { return }
    let bySection = Dictionary(totals.map { ($0.section, $0) }) { _, last in last }
    for index in drafts.indices {
      guard let total = bySection[drafts[index].id] else { continue }
      drafts[index].from = total.from
      drafts[index].total = total.of
    }
  }

  /// Takes over where a window is in its sections, of how many items.
  mutating func setTotals(_ totals: [WindowTotal]) {
    var drafts = sections.map(SectionDraft.init)
    setTotals(totals, in: &drafts)
    takeSections(drafts, reusing: self)
  }

  static func checksum(of sections: [FeedSection]) -> UInt32 {
    sections.indices.reduce(0) { sum, index in
      let (section, previous) = (sections[index], index > 0 ? sections[index - 1].id : nil)
      return sum &+ ChecksumTerm.section(section.id, after: previous) &+ ChecksumTerm.items(section.items)
    }
  }

  static func exists(_ id: String) -> ReplicaFault {
    ReplicaFault(.unknownElement, "\"\(id)\" is inserted, but already exists")
  }
}

/// A section that is being made.
struct SectionDraft {
  let id: SectionID
  var content: ElementContent
  var order: [OrderKey]?
  var keep: Int?
  var items: [FeedItem] = []
  var from = 0
  /// How many items there are, if that is not how many are shown.
  var total: Int?
  var isPending = false

  init(id: SectionID, dataText: String, order: [OrderKey]? = nil, keep: Int? = nil) {
    (self.id, self.order, self.keep) = (id, order, keep)
    content = ElementContent(dataText)
  }

  init(_ section: FeedSection) {
    (id, content, order, keep) = (section.id, section.content, section.order, section.keep)
    items = section.items
    from = section.from
    total = section.of == section.items.count && section.from == 0 ? nil : section.of
    isPending = section.isPending
  }
}

extension FeedState {
  /// Applies the entries of a difference, as chapter 11.5 of the protocol says, and returns them. After an error the state must
  /// be discarded.
  mutating func apply(_ parts: [Changeset]) throws -> FeedChange {
    let head = parts[0].head
    var work = try DifferenceWork(parts)
    var change = FeedChange(head, parts[0].mode == .reconfigure ? .reconfigure : .diff)

    // Deletions and `from` refer to the base, so they come before sections change.
    for entry in work.items[.delete] {
      let (id, place) = (ItemID(try entry.id()), try entry.itemPlace())
      itemsById[try edit(place.section, &work).take(id, at: place.index).id] = nil
      change.items.deletes.append(.init(id: id, place: place))
    }
    var moved: [(item: FeedItem, to: FeedChange.ItemPlace)] = []
    for entry in work.items[.move] {
      let (id, from, to) = (ItemID(try entry.id()), try entry.itemPlace("from"), try entry.itemPlace("to"))
      moved.append((try edit(from.section, &work).take(id, at: from.index), to))
      change.items.moves.append(.init(id: id, from: from, to: to))
    }
    try editSections(&work, &change)
    try place(moved, &work, &change)
    try changeContent(&work, &change)

    var drafts = work.drafts
    for total in parts[0].totals {
      guard let section = sectionsById[total.section], section.from != total.from || section.of != total.of
      else { continue }
      drafts[total.section] = drafts[total.section] ?? SectionDraft(section)
    }
    if !drafts.isEmpty {
      let totals = Dictionary(parts[0].totals.map { ($0.section, $0) }) { _, last in last }
      for (id, draft) in drafts {
        var draft = draft
        draft.from = totals[id]?.from ?? 0
        draft.total = totals[id]?.of
        let section = FeedSection(draft)
        guard let former = sectionsById[id], !former.equals(section) else { continue }
        sectionsById[id] = section
      }
      sections = sections.map { sectionsById[$0.id] ?? $0 }
    }
    guard hexadecimal(checksum) == head.checksum else {
      throw ReplicaFault(
        .checksum,
        "the result of revision \(head.revision) has \(hexadecimal(checksum)), expected \(head.checksum)"
      )
    }
    return change
  }

  /// The edit of a section's items, for use at once.
  private func edit(_ id: SectionID, _ work: inout DifferenceWork) throws -> ListEdit<FeedItem> {
    guard let section = sectionsById[id] else { throw Self.unknown(id) }
    if let edit = work.edits[id] { return edit }
    let edit = ListEdit(section.items)
    work.edits[id] = edit
    return edit
  }

  private mutating func editSections(_ work: inout DifferenceWork, _ change: inout FeedChange) throws {
    let sectionEdit = ListEdit(sections)
    for entry in work.sections[.delete] {
      let (id, index) = (SectionID(try entry.id()), try entry.index())
      let section = try sectionEdit.take(id, at: index)
      // Items that are still in it are deleted with it, unlisted.
      let itemEdit = try edit(id, &work)
      _ = try itemEdit.finish { _, _ in 0 }
      for item in itemEdit.result { itemsById[item.id] = nil }
      checksum &-= ChecksumTerm.items(section.items)
      work.edits[id] = nil
      sectionsById[id] = nil
      change.sections.deletes.append(.init(id: id, place: index))
    }
    for entry in work.sections[.move] {
      let (id, from, to) = (SectionID(try entry.id()), try entry.index("from"), try entry.index("to"))
      sectionEdit.place(try sectionEdit.take(id, at: from), at: to)
      change.sections.moves.append(.init(id: id, from: from, to: to))
    }
    for entry in work.sections[.insert] {
      let (id, index) = (SectionID(try entry.id()), try entry.index())
      let section = FeedSection(try entry.section())
      guard sectionsById.updateValue(section, forKey: id) == nil else { throw Self.exists(id.rawValue) }
      sectionEdit.place(section, at: index)
      change.sections.inserts.append(.init(id: id, place: index))
    }
    checksum &+= try sectionEdit.finish { ChecksumTerm.section($0.id, after: $1?.id) }
    sections = sectionEdit.result
  }

  private mutating func place(
    _ moved: [(item: FeedItem, to: FeedChange.ItemPlace)],
    _ work: inout DifferenceWork,
    _ change: inout FeedChange
  ) throws {
    for (item, to) in moved {
      let item = item.with(section: to.section)
      try edit(to.section, &work).place(item, at: to.index)
      itemsById[item.id] = item
    }
    for entry in work.items[.insert] {
      let place = try entry.itemPlace()
      let item = try entry.item(in: place.section)
      let id = item.id
      try edit(place.section, &work).place(item, at: place.index)
      guard itemsById.updateValue(item, forKey: id) == nil else { throw Self.exists(id.rawValue) }
      change.items.inserts.append(.init(id: id, place: place))
    }
    for (id, edit) in work.edits {
      checksum &+= try edit.finish { ChecksumTerm.item($0, after: $1) }
      guard let section = sectionsById[id] else { throw Self.unknown(id) }
      var draft = SectionDraft(section)
      draft.items = edit.result
      work.drafts[id] = draft
    }
  }

  private mutating func changeContent(_ work: inout DifferenceWork, _ change: inout FeedChange) throws {
    for kind in [ChangesetList.reconfigure, .reload] {
      for entry in work.sections[kind] {
        let (id, index) = (SectionID(try entry.id()), try entry.index())
        guard sections.indices.contains(index), sections[index].id == id else {
          throw Self.misplaced(id.rawValue, index)
        }
        var draft = work.drafts[id] ?? SectionDraft(sectionsById[id] ?? sections[index])
        (draft.content, draft.order, draft.keep) = (
          ElementContent(try entry.data()), entry.order(), entry.keep()
        )
        work.drafts[id] = draft
        let list = kind == .reload ? \FeedChange.sections.reloads : \.sections.reconfigures
        change[keyPath: list].append(.init(id: id, place: index))
      }
      for entry in work.items[kind] {
        let (id, place) = (ItemID(try entry.id()), try entry.itemPlace())
        guard let section = sectionsById[place.section] else { throw Self.unknown(place.section) }
        var draft = work.drafts[place.section] ?? SectionDraft(section)
        guard draft.items.indices.contains(place.index), draft.items[place.index].id == id else {
          throw Self.misplaced(id.rawValue, place.index)
        }
        let former = draft.items[place.index]
        let newKind = kind == .reload ? try entry.kind() : nil
        let item = former.with(kind: newKind, dataText: try entry.data(), extras: entry.extras)
        let previous = place.index > 0 ? draft.items[place.index - 1] : nil
        if kind == .reload {
          checksum &+= ChecksumTerm.item(item, after: previous) &- ChecksumTerm.item(former, after: previous)
        }
        work.drafts[place.section] = nil
        draft.items[place.index] = item
        work.drafts[place.section] = draft
        itemsById[id] = item
        let list = kind == .reload ? \FeedChange.items.reloads : \.items.reconfigures
        change[keyPath: list].append(.init(id: id, place: place))
      }
    }
  }

  private static func unknown(_ id: SectionID) -> ReplicaFault {
    ReplicaFault(.unknownElement, "there is no section \"\(id)\"")
  }

  static func misplaced(_ id: String, _ index: Int) -> ReplicaFault {
    ReplicaFault(.position, "expected \"\(id)\" at \(index)")
  }
}

enum ChangesetList: String, CaseIterable { case delete, insert, move, reconfigure, reload }

/// The entries of all parts, and what has been done with them.
private struct DifferenceWork {
  struct Lists {
    private var lists: [ChangesetList: [ChangesetEntry]] = [:]

    init(_ parts: [JSONText?], _ name: String) throws {
      for case .some(let part) in parts {
        guard let object = JSONObject(part) else { throw Changeset.invalid(name, part) }
        for list in ChangesetList.allCases {
          lists[list, default: []] += try ChangesetEntry.list(object[list.rawValue], list.rawValue)
        }
      }
    }

    subscript(list: ChangesetList) -> [ChangesetEntry] { lists[list] ?? [] }
  }

  let sections: Lists
  let items: Lists
  var edits: [SectionID: ListEdit<FeedItem>] = [:]
  /// The sections that change.
  var drafts: [SectionID: SectionDraft] = [:]

  init(_ parts: [Changeset]) throws {
    sections = try Lists(parts.map { $0.body["sections"] }, "sections")
    items = try Lists(parts.map { $0.body["items"] }, "items")
  }
}

/// Removes elements from a list and inserts others, in one pass.
private final class ListEdit<Element: AnyObject & Identifiable> where Element.ID: CustomStringConvertible {
  private let base: [Element]
  /// Positions before the edit.
  private var taken: [Int] = []
  /// Positions after the edit.
  private var placed: [(index: Int, element: Element)] = []
  /// The list after the edit, once it is finished.
  private(set) var result: [Element]

  init(_ base: [Element]) {
    self.base = base
    result = base
  }

  func take(_ id: Element.ID, at index: Int) throws -> Element {
    guard base.indices.contains(index), base[index].id == id else {
      throw FeedState.misplaced("\(id)", index)
    }
    taken.append(index)
    return base[index]
  }

  func place(_ element: Element, at index: Int) { placed.append((index, element)) }

  /// Makes the result.
  ///
  /// - Parameter term: An element's term of the checksum, which depends on the element before it.
  /// - Returns: By how much the sum of the terms has changed.
  func finish(_ term: (Element, Element?) -> UInt32) throws -> UInt32 {
    guard !taken.isEmpty || !placed.isEmpty else { return 0 }
    taken.sort()
    placed.sort { $0.index < $1.index }
    var (nextTaken, nextPlaced) = (0, 0)
    var change: UInt32 = 0
    var list: [Element] = []
    list.reserveCapacity(base.count + placed.count)
    for at in 0...base.count {
      while nextPlaced < placed.count, placed[nextPlaced].index == list.count {
        change &+= term(placed[nextPlaced].element, list.last)
        list.append(placed[nextPlaced].element)
        nextPlaced += 1
      }
      guard at < base.count else { break }
      let former = at > 0 ? base[at - 1] : nil
      if nextTaken < taken.count, at == taken[nextTaken] {
        change &-= term(base[at], former)
        nextTaken += 1
      } else {
        if former !== list.last { change &+= term(base[at], list.last) &- term(base[at], former) }
        list.append(base[at])
      }
    }
    guard nextTaken == taken.count else {
      throw ReplicaFault(.position, "\"\(base[taken[nextTaken]].id)\" is removed from its place twice")
    }
    guard nextPlaced == placed.count else {
      throw ReplicaFault(
        .position,
        "\"\(placed[nextPlaced].element.id)\" cannot be placed at \(placed[nextPlaced].index)"
      )
    }
    result = list
    return change
  }
}
