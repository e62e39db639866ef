/// An operation of a write that can be shown before the daemon has published it.
enum PendingOperation: Sendable {
  case upsert(ItemID, section: SectionID?, kind: String?, data: String?, at: Place?)
  case patch(ItemID, JSONText)
  case move(ItemID, section: SectionID?, at: Place?)
  case delete(ItemID)
  case section(SectionID, data: String)

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
      guard let section, let data = event["data"], ["at", "order", "keep"].allSatisfy({ event[$0] == nil })
      else {
        return nil
      }
      self = .section(section, data: data.compactText)
    default: return nil
    }
  }

  /// The operations of a record's value that can be shown.
  static func list(_ value: String) -> [PendingOperation] {
    guard let text = try? JSONText(checking: value) else { return [] }
    return (text.elements ?? [text]).compactMap { JSONObject($0) }.compactMap(PendingOperation.init)
  }
}

/// A write that is not confirmed.
struct PendingWrite: Sendable {
  let id: WriteID
  let operations: [PendingOperation]
  /// Where its record is, once that is known.
  var topic: String?
  var offset: Int?
  /// The version that covers it, if the daemon said so.
  var epoch: String?
  var revision: Int?
  /// Whether it was accepted without an offset: then the next changeset confirms it.
  var awaitsNext = false
  /// For how long it has been shown since then, while the feed was live.
  var liveSeconds = 0.0

  func isConfirmed(by view: FeedView, isNewer: Bool) -> Bool {
    if let topic, let offset, let reached = view.through[topic], reached >= offset { return true }
    if let epoch, let revision, epoch == view.epoch, let reached = view.revision, reached >= revision {
      return true
    }
    return awaitsNext && isNewer
  }
}

extension Follow {
  /// Drops writes whose effect the confirmed state has.
  ///
  /// - Parameter isNewer: Whether a changeset has arrived.
  mutating func dropConfirmed(isNewer: Bool) {
    pending.removeAll { $0.isConfirmed(by: confirmed, isNewer: isNewer) }
  }
}

/// Shows writes over the state that the daemon has published. An operation that does not fit shows nothing.
struct PendingOverlay {
  private let writes: [PendingWrite]
  private let window: FeedWindow
  private var sections: [SectionDraft] = []
  private var moved: Set<ItemID> = []

  init(_ writes: [PendingWrite], window: FeedWindow) {
    self.writes = writes
    self.window = window
  }

  /// The state with the writes, and whether they show anything. Elements that are as in `former` are the same objects.
  func applied(to confirmed: FeedState, former: FeedState) -> (FeedState, isPending: Bool) {
    var work = self
    work.sections = confirmed.sections.map(SectionDraft.init)
    for operation in writes.lazy.flatMap(\.operations) { work.apply(operation) }
    var isPending = false
    for index in work.sections.indices {
      let section = confirmed.sectionsById[work.sections[index].id]
      work.sections[index].isPending =
        section.map { !haveSameBytes($0.dataText, work.sections[index].dataText) } ?? true
      isPending =
        isPending || work.sections[index].isPending
        || section?.items.count != work.sections[index].items.count
      for place in work.sections[index].items.indices {
        let item = work.sections[index].items[place]
        let original = confirmed.itemsById[item.id]
        if !work.moved.contains(item.id), let original, original.equals(item.with(isPending: false)) {
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
      if let (index, place) = find(id) {
        let item = sections[index].items[place].with(kind: kind, dataText: data)
        sections[index].items[place] = item
        if section != nil || at != nil { move(id, to: section, at) }
      } else if let section, let index = sections.firstIndex(where: { $0.id == section }),
        sections[index].order == nil
      {
        insert(
          FeedItem(id: id, kind: kind ?? "", section: section, dataText: data ?? "null"),
          into: index,
          at ?? .last
        )
      }
    case .patch(let id, let patch):
      guard let (index, place) = find(id) else { return }
      let item = sections[index].items[place]
      sections[index].items[place] = item.with(
        dataText: mergePatched(try? JSONText(checking: item.dataText), patch)
      )
    case .move(let id, let section, let at): move(id, to: section, at)
    case .delete(let id):
      guard let (index, place) = find(id) else { return }
      remove(place, from: index)
    case .section(let id, let data):
      guard let index = sections.firstIndex(where: { $0.id == id }) else { return }
      sections[index].dataText = data
    }
  }

  private func find(_ id: ItemID) -> (section: Int, place: Int)? {
    for (index, section) in sections.enumerated() {
      if let place = section.items.firstIndex(where: { $0.id == id }) { return (index, place) }
    }
    return nil
  }

  private mutating func move(_ id: ItemID, to section: SectionID?, _ at: PendingOperation.Place?) {
    guard let (index, place) = find(id) else { return }
    let target = section ?? sections[index].id
    // In an ordered section the daemon finds the place, and without a place an item of the section keeps its own.
    guard let other = sections.firstIndex(where: { $0.id == target }), sections[other].order == nil,
      other != index || at != nil
    else { return }
    let item = sections[index].items[place]
    let before = (sections[index], sections[other])
    remove(place, from: index)
    guard insert(item.with(section: target), into: other, at ?? .last) else {
      (sections[index], sections[other]) = before
      return
    }
    if index != other || sections[index].items.firstIndex(where: { $0.id == id }) != place {
      moved.insert(id)
    }
  }

  private mutating func remove(_ place: Int, from index: Int) {
    sections[index].items.remove(at: place)
    if let total = sections[index].total { sections[index].total = total - 1 }
  }

  /// Whether the place is known, inside of the window or outside.
  @discardableResult
  private mutating func insert(_ item: FeedItem, into index: Int, _ at: PendingOperation.Place) -> Bool {
    let section = sections[index]
    let end = section.from + section.items.count
    let total = section.total ?? section.items.count
    let position: Int
    switch at {
    case .first: position = 0
    case .last: position = total
    case .index(let index): position = min(index, total)
    case .before(let id), .after(let id):
      guard let anchor = section.items.firstIndex(where: { $0.id == ItemID(id) }) else { return false }
      position = section.from + anchor
    }
    sections[index].total = section.total.map { $0 + 1 }
    var place = position - section.from
    if case .after = at { place += 1 }
    guard place >= 0, position <= end else { return true }
    sections[index].items.insert(item, at: place)
    if let capacity = window.capacity, sections[index].items.count > capacity {
      sections[index].total = total + 1
      sections[index].items.removeLast(sections[index].items.count - capacity)
    }
    return true
  }
}
