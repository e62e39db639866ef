import Foundation

/// An operation of a write that can be shown before the daemon has published it.
enum PendingOperation: Sendable {
  case upsert(ItemID, section: SectionID?, kind: String?, data: String?, at: Place?)
  case patch(ItemID, JSONText)
  case move(ItemID, section: SectionID?, at: Place?)
  case delete(ItemID)
  /// An order or a bound of nil removes it.
  case section(SectionID, data: String?, order: [OrderKey]??, keep: Int??, at: Place?)

  enum Place: Sendable {
    case first, last
    case index(Int)
    case before(String)
    case after(String)

    init?(_ text: JSONText) {
      switch text.string {
      case "first": self = .first
      case "last": self = .last
      default:
        guard let object = JSONObject(text) else { return nil }
        if let index = object["index"]?.count {
          self = .index(index)
        } else if let id = object["before"]?.string {
          self = .before(id)
        } else if let id = object["after"]?.string {
          self = .after(id)
        } else {
          return nil
        }
      }
    }
  }

  /// Nil for an operation that is not shown early, or that is not valid: that is for the daemon to decide.
  init?(_ event: JSONObject) {
    let item = event["item"]?.string.map { ItemID($0) }
    let section = event["section"]?.string.map { SectionID($0) }
    let at = event["at"].map(Place.init)
    // A place that is not understood.
    if case .some(.none) = at { return nil }
    switch (event["op"]?.string, item) {
    case ("item.upsert", .some(let item)):
      self = .upsert(
        item,
        section: section,
        kind: event["kind"]?.string,
        data: event["data"]?.compactText,
        at: at ?? nil
      )
    case ("item.patch", .some(let item)):
      guard let data = event["data"] else { return nil }
      self = .patch(item, data)
    case ("item.move", .some(let item)): self = .move(item, section: section, at: at ?? nil)
    case ("item.delete", .some(let item)): self = .delete(item)
    case ("section.upsert", _):
      guard let section, let order = Self.order(event["order"]), let keep = Self.keep(event["keep"]) else {
        return nil
      }
      self = .section(section, data: event["data"]?.compactText, order: order, keep: keep, at: at ?? nil)
    default: return nil
    }
  }

  /// The outer nil is for what is not valid, the middle one for what the event does not say.
  private static func order(_ text: JSONText?) -> [OrderKey]??? {
    guard let text else { return .some(.none) }
    if text.isNull { return .some(.some(.none)) }
    let keys = (text.elements ?? []).map { key -> OrderKey? in
      guard let key = JSONObject(key), let by = key["by"]?.string, by.isEmpty || by.utf8.first == 0x2f else {
        return nil
      }
      return OrderKey(by: by, isDescending: key["direction"]?.string == "descending")
    }
    guard (1...4).contains(keys.count), !keys.contains(nil) else { return nil }
    return .some(.some(keys.compactMap { $0 }))
  }

  private static func keep(_ text: JSONText?) -> Int??? {
    guard let text else { return .some(.none) }
    if text.isNull { return .some(.some(.none)) }
    guard let keep = text.count, keep > 0 else { return nil }
    return .some(.some(keep))
  }

  /// The operations of a record's value that can be shown.
  static func list(_ value: String) -> [PendingOperation] {
    guard let text = try? JSONText(checking: value) else { return [] }
    return (text.elements ?? [text]).compactMap { JSONObject($0) }.compactMap(PendingOperation.init)
  }
}

/// Shows writes over the state that the daemon has published. An operation that does not fit shows nothing.
struct PendingOverlay {
  private let writes: [[PendingOperation]]
  private let window: FeedWindow
  private var sections: [SectionDraft] = []
  /// The items of all sections.
  private var items: [ItemID: FeedItem] = [:]
  private var moved: Set<ItemID> = []
  private var movedSections: Set<SectionID> = []

  init(_ writes: [[PendingOperation]], window: FeedWindow) {
    self.writes = writes
    self.window = window
  }

  /// The state with the writes, and whether they show anything. Elements that are as in `former` are the same objects.
  func applied(to confirmed: FeedState, former: FeedState) -> (FeedState, isPending: Bool) {
    var work = self
    work.sections = confirmed.sections.map { section in
      var draft = SectionDraft(section)
      draft.total = section.of
      return draft
    }
    work.items = confirmed.itemsById
    for write in writes {
      for operation in write { work.apply(operation) }
      work.cut()
    }
    var isPending = false
    for index in work.sections.indices {
      let draft = work.sections[index]
      let section = confirmed.sectionsById[draft.id]
      work.sections[index].isPending =
        section.map {
          !haveSameBytes($0.dataText, draft.content.text) || $0.order != draft.order || $0.keep != draft.keep
            || work.movedSections.contains(draft.id)
        } ?? true
      isPending =
        isPending || work.sections[index].isPending || section?.of != draft.total
        || section?.items.count != draft.items.count
      for place in work.sections[index].items.indices {
        let item = work.sections[index].items[place]
        let original = confirmed.itemsById[item.id]
        if let original, !work.moved.contains(item.id),
          original === item || original.equals(item.with(isPending: false))
        {
          work.sections[index].items[place] = original
        } else {
          isPending = true
          work.sections[index].items[place] = former.reused(item.with(isPending: true))
        }
      }
    }
    return (FeedState(drafts: work.sections, reusing: former), isPending)
  }

  private mutating func apply(_ operation: PendingOperation) {
    switch operation {
    case .upsert(let id, let section, let kind, let data, let at):
      let found = find(id)
      let former = items[id]
      guard let name = section ?? former?.section, isPlace(at, of: id, in: name) else { return }
      let new = FeedItem(id: id, kind: kind ?? "", section: name, dataText: data ?? "null")
      put(former?.with(kind: kind, section: name, dataText: data) ?? new, at, replacing: found)
    case .patch(let id, let patch):
      guard let found = find(id), let item = items[id] else { return }
      let data = mergePatched(try? JSONText(checking: item.dataText), patch)
      put(item.with(dataText: data), nil, replacing: found)
    case .move(let id, let section, let at):
      guard let found = find(id), let item = items[id] else { return }
      let name = section ?? item.section
      guard name != item.section || at != nil, isPlace(at, of: id, in: name) else { return }
      put(item.with(section: name), at, replacing: found)
    case .delete(let id): if let found = find(id) { remove(found.place, from: found.section) }
    case .section(let id, let data, let order, let keep, let at): change(id, data, order, keep, at)
    }
  }

  private func find(_ id: ItemID) -> (section: Int, place: Int)? {
    guard let item = items[id], let index = sections.firstIndex(where: { $0.id == item.section }) else {
      return nil
    }
    return sections[index].items.firstIndex { $0 === item }.map { (index, $0) }
  }

  /// Whether a place is known. The daemon decides about places in an ordered section, and refuses others.
  private func isPlace(_ at: PendingOperation.Place?, of id: ItemID, in name: SectionID) -> Bool {
    let section = sections.first { $0.id == name }
    guard let at else { return true }
    guard section?.order == nil else { return false }
    switch at {
    case .first, .last, .index: return true
    case .before(let anchor), .after(let anchor):
      return ItemID(anchor) != id && items[ItemID(anchor)]?.section == name
    }
  }

  /// The index of a section, also of a new one; nil if the window does not show it.
  private mutating func section(_ id: SectionID) -> Int? {
    if let index = sections.firstIndex(where: { $0.id == id }) { return index }
    guard window.sections == nil else { return nil }
    var draft = SectionDraft(id: id, dataText: "null")
    draft.total = 0
    sections.append(draft)
    return sections.count - 1
  }

  private func isWhole(_ index: Int) -> Bool {
    sections[index].from == 0 && sections[index].items.count == sections[index].total
  }

  private mutating func remove(_ place: Int, from index: Int) {
    items[sections[index].items.remove(at: place).id] = nil
    sections[index].total! -= 1
  }

  /// Puts an item where it belongs, if the window shows that place.
  private mutating func put(
    _ item: FeedItem,
    _ at: PendingOperation.Place?,
    replacing found: (section: Int, place: Int)?
  ) {
    if let (index, place) = found {
      let isSorted = sections[index].order != nil && isWhole(index)
      if sections[index].id == item.section, at == nil, !isSorted {
        sections[index].items[place] = item
        items[item.id] = item
        return
      }
      remove(place, from: index)
    }
    guard let index = section(item.section) else { return }
    let end = sections[index].total! - sections[index].from
    var place = end
    if let order = sections[index].order {
      if isWhole(index) { place = order.place(of: item, in: sections[index].items) }
    } else {
      func position(_ id: String) -> Int { find(ItemID(id))?.place ?? 0 }
      switch at {
      case .none, .last: break
      case .first: place = -sections[index].from
      case .index(let number): place = min(number - sections[index].from, end)
      case .before(let id): place = position(id)
      case .after(let id): place = position(id) + 1
      }
    }
    sections[index].total! += 1
    if found.map({ $0 != (index, place) }) ?? true { moved.insert(item.id) }
    guard 0...sections[index].items.count ~= place else { return }
    sections[index].items.insert(item, at: place)
    items[item.id] = item
  }

  /// Takes away what is beyond the bounds of sections, and of the window.
  private mutating func cut() {
    for index in sections.indices {
      let keep = sections[index].keep ?? .max
      sections[index].total = min(sections[index].total!, keep)
      let room = max(0, min(window.capacity ?? .max, keep - sections[index].from))
      for item in sections[index].items.dropFirst(room) { items[item.id] = nil }
      sections[index].items.removeLast(max(0, sections[index].items.count - room))
    }
  }

  private mutating func change(
    _ id: SectionID,
    _ data: String?,
    _ order: [OrderKey]??,
    _ keep: Int??,
    _ at: PendingOperation.Place?
  ) {
    let others = sections.map(\.id).filter { $0 != id }
    var place: Int?
    // Where a section is among all of them is only known of a window that has all.
    if window.sections == nil, let at {
      switch at {
      case .first: place = 0
      case .last: place = others.count
      case .index(let index): place = min(index, others.count)
      case .before(let name): place = others.firstIndex(of: SectionID(name))
      case .after(let name): place = others.firstIndex(of: SectionID(name)).map { $0 + 1 }
      }
      guard place != nil else { return }
    }
    guard let index = section(id) else { return }
    if let data { sections[index].content = ElementContent(data) }
    if let keep { sections[index].keep = keep }
    if let order { sections[index].order = order }
    if case .some(.some(let keys)) = order, isWhole(index) {
      sections[index].items.sort { keys.isIncreasing($0, $1) }
    }
    guard let place, place != index else { return }
    sections.insert(sections.remove(at: index), at: place)
    movedSections.insert(id)
  }
}

/// The order of section 2.13 of the protocol, except that numbers are compared as Swift has them.
extension [OrderKey] {
  /// Where an item belongs among those of an ordered section.
  fileprivate func place(of item: FeedItem, in items: [FeedItem]) -> Int {
    var (low, high) = (0, items.count)
    while low < high {
      let middle = (low + high) / 2
      if isIncreasing(items[middle], item) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  fileprivate func isIncreasing(_ one: FeedItem, _ other: FeedItem) -> Bool {
    let (first, second) = (one.data, other.data)
    for key in self {
      let (a, b) = (first.value(at: key.by), second.value(at: key.by))
      let isReversed = key.isDescending && a.rank < 3 && b.rank < 3
      if a.precedes(b) { return !isReversed }
      if b.precedes(a) { return isReversed }
    }
    return one.id.rawValue.utf8.lexicographicallyPrecedes(other.id.rawValue.utf8)
  }
}

extension JSONValue {
  fileprivate var rank: Int {
    switch self {
    case .bool: 0
    case .integer, .number: 1
    case .string: 2
    case .null, .array, .object: 3
    }
  }

  fileprivate func precedes(_ other: JSONValue) -> Bool {
    switch (self, other) {
    case (.bool(let one), .bool(let other)): !one && other
    case (.integer(let one), .integer(let other)): one < other
    case (.string(let one), .string(let other)): one.utf8.lexicographicallyPrecedes(other.utf8)
    default: rank == 1 && other.rank == 1 ? (number ?? 0) < (other.number ?? 0) : rank < other.rank
    }
  }

  /// What a JSON Pointer leads to.
  fileprivate func value(at pointer: String) -> JSONValue {
    var value = self
    for name in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      let name = name.replacingOccurrences(of: "~1", with: "/").replacingOccurrences(of: "~0", with: "~")
      if case .array = value {
        value = Int(name).flatMap { String($0) == name ? value[$0] : nil } ?? .null
      } else {
        value = value[name] ?? .null
      }
    }
    return value
  }
}
