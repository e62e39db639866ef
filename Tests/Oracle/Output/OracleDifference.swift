/// The difference between two states of a feed. Only the choice of moves within a list is open.
struct OracleDifference {
  private struct Position {
    let section: [UInt8]
    let index: Int
    let item: OracleItem
  }

  private let before: OracleFeed
  private let after: OracleFeed
  private let forced: OracleForced
  private let old: [[UInt8]: Position]
  private let new: [[UInt8]: Position]
  private let oldSections: [[UInt8]: Int]
  private let newSections: [[UInt8]: Int]
  /// The lists in which elements may have moved: of the sections, and of each section's items.
  let sectionOrder: OracleOrder
  let itemOrders: [OracleOrder]
  /// Items that changed their section.
  let crossings: Set<[UInt8]>

  init(before: OracleFeed, after: OracleFeed, forced: OracleForced, placements: OraclePlacements) {
    self.before = before
    self.after = after
    self.forced = forced
    let old = Self.positions(in: before).filter { _, position in
      after.section(position.section) != nil || keeps(.leavingIsMove)
    }
    let new = Self.positions(in: after)
    self.old = old
    self.new = new
    oldSections = Dictionary(uniqueKeysWithValues: before.sectionIDs.enumerated().map { ($1, $0) })
    newSections = Dictionary(uniqueKeysWithValues: after.sectionIDs.enumerated().map { ($1, $0) })
    sectionOrder = OracleOrder(
      name: "sections",
      base: before.sectionIDs,
      result: after.sectionIDs,
      isReplaced: placements.sectionListReplaced,
      placed: placements.sections
    )
    itemOrders = after.sections.map { section in
      OracleOrder(
        name: "items of \(String(decoding: section.id, as: UTF8.self))",
        base: before.section(section.id)?.items.map(\.id) ?? [],
        result: section.items.map(\.id),
        isReplaced: placements.replacedLists.contains(section.id),
        placed: placements.items
      )
    }
    crossings = Set(after.itemIDs.filter { id in old[id].map { $0.section != new[id]?.section } ?? false })
  }

  private static func positions(in feed: OracleFeed) -> [[UInt8]: Position] {
    var positions: [[UInt8]: Position] = [:]
    for section in feed.sections {
      for (index, item) in section.items.enumerated() {
        positions[item.id] = Position(section: section.id, index: index, item: item)
      }
    }
    return positions
  }

  /// One of the minimal sets of moves.
  var fewestMoves: OracleMoves {
    OracleMoves(
      sections: sectionOrder.fewestMoves,
      items: itemOrders.reduce(crossings) { $0.union($1.fewestMoves) }
    )
  }

  /// All elements of lists in which any moved.
  var allMoves: OracleMoves {
    func all(_ order: OracleOrder) -> Set<[UInt8]> { order.fewest > 0 ? Set(order.elements) : [] }
    return OracleMoves(sections: all(sectionOrder), items: itemOrders.reduce(crossings) { $0.union(all($1)) })
  }

  /// Why these moves are not valid; nil if they are.
  func complaint(about moves: OracleMoves) -> String? {
    for id in moves.sections where oldSections[id] == nil || newSections[id] == nil {
      return "sections: \(String(decoding: id, as: UTF8.self)) is listed as moved but is not in both states"
    }
    for id in moves.items where old[id] == nil || new[id] == nil {
      return "items: \(String(decoding: id, as: UTF8.self)) is listed as moved but is not in both states"
    }
    for id in crossings where !moves.items.contains(id) {
      return "items: \(String(decoding: id, as: UTF8.self)) changed its section and is not listed as moved"
    }
    for order in [sectionOrder] + itemOrders where !order.isReplaced && order.fewest > order.placedCount {
      return "\(order.name): the oracle is wrong, \(order.fewest) moved and \(order.placedCount) placed"
    }
    if let complaint = sectionOrder.complaint(about: moves.sections) { return complaint }
    for order in itemOrders {
      if let complaint = order.complaint(about: moves.items) { return complaint }
    }
    return nil
  }

  // MARK: - Figures for the planner

  /// The number of items in both states.
  var commonCount: Int { after.itemIDs.count { old[$0] != nil } }

  /// The number of items in both states whose kind changed.
  var changedKinds: Int {
    after.itemIDs.count { id in old[id].map { $0.item.kind != new[id]?.item.kind } ?? false }
  }

  // MARK: - Entries

  /// Every entry, in the document's order.
  func units(_ moves: OracleMoves) -> [OracleUnit] {
    sectionUnits(moves.sections) + itemUnits(moves.items)
  }

  private func unit(
    _ group: String,
    _ list: String,
    _ id: [UInt8],
    _ rest: (inout OracleText) -> Void
  )
    -> OracleUnit
  {
    var text = OracleText()
    text.add("{")
    text.addField("id", string: id, isFirst: true)
    rest(&text)
    text.add("}")
    return OracleUnit(place: .entry(group: group, list: list), bytes: text.bytes)
  }

  private func sectionUnits(_ moved: Set<[UInt8]>) -> [OracleUnit] {
    var units: [OracleUnit] = []
    var deleted = 0
    for (index, section) in before.sections.enumerated() where newSections[section.id] == nil {
      let index = keeps(.deletedInBase) ? index : index - deleted
      units.append(unit("sections", "delete", section.id) { $0.addField("index", number: index) })
      deleted += 1
    }
    func add(_ list: String, where isListed: (OracleSection, OracleSection?) -> Bool) {
      for (index, section) in after.sections.enumerated() {
        let previous = oldSections[section.id].map { before.sections[$0] }
        guard isListed(section, previous), list == "insert" || isListedOnce(section.id, moved) else {
          continue
        }
        units.append(
          unit("sections", list, section.id) { text in
            text.addField("index", number: index)
            text.addContent(of: section)
          }
        )
      }
    }
    add("insert") { $1 == nil }
    for (index, section) in after.sections.enumerated() {
      guard moved.contains(section.id), let from = oldSections[section.id] else { continue }
      units.append(
        unit("sections", "move", section.id) { text in
          text.addField("from", number: keeps(.movedFromBase) ? from : index)
          text.addField("to", number: keeps(.movedToResult) ? index : from)
        }
      )
    }
    let reloads = forced.sectionReloads
    add("reconfigure") { section, previous in
      guard let previous else { return false }
      let isReload = reloads.contains(section.id) && keeps(.sectionReloadReplaces)
      return !isReload && (!section.hasContent(of: previous) || !keeps(.onlyChangesListed))
    }
    add("reload") { ($1 != nil || !keeps(.insertedOnce)) && reloads.contains($0.id) }
    return units
  }

  private func isListedOnce(_ id: [UInt8], _ moved: Set<[UInt8]>) -> Bool {
    !moved.contains(id) || keeps(.movedAndChanged)
  }

  private func itemUnits(_ moved: Set<[UInt8]>) -> [OracleUnit] {
    var units: [OracleUnit] = []
    for section in before.sections where newSections[section.id] != nil || !keeps(.deletedWithSection) {
      var deleted = 0
      for (index, item) in section.items.enumerated() where new[item.id] == nil {
        let index = keeps(.deletedInBase) ? index : index - deleted
        deleted += 1
        units.append(
          unit("items", "delete", item.id) { text in
            text.addField("section", string: section.id)
            text.addField("index", number: index)
          }
        )
      }
    }
    func add(_ list: String, withKind: Bool, where isListed: (OracleItem, OracleItem?) -> Bool) {
      for section in after.sections {
        for (index, item) in section.items.enumerated() where isListed(item, old[item.id]?.item) {
          guard list == "insert" || isListedOnce(item.id, moved) else { continue }
          units.append(
            unit("items", list, item.id) { text in
              text.addField("section", string: section.id)
              text.addField("index", number: index)
              if withKind { text.addField("kind", string: item.kind) }
              text.addContent(of: item)
            }
          )
        }
      }
    }
    add("insert", withKind: true) { $1 == nil }
    let ids = keeps(.sortedByPosition) ? after.itemIDs : after.itemIDs.reversed()
    for id in ids where moved.contains(id) {
      guard let from = old[id], let to = new[id] else { continue }
      units.append(
        unit("items", "move", id) { text in
          let places = [
            ("from", keeps(.movedFromBase) ? from : to), ("to", keeps(.movedToResult) ? to : from),
          ]
          for (name, position) in places {
            text.add(",\"\(name)\":{")
            text.addField("section", string: position.section, isFirst: true)
            text.addField("index", number: position.index)
            text.add("}")
          }
        }
      )
    }
    add("reconfigure", withKind: false) { item, previous in
      guard let previous, !isReload(item, previous) || !keeps(.reloadReplacesReconfigure) else {
        return false
      }
      let hasNewEnd = previous.expires != item.expires && keeps(.newEndReconfigures)
      let hasNewReferences = previous.refs != item.refs && keeps(.referencesReconfigure)
      return previous.data != item.data || hasNewEnd || hasNewReferences
        || forced.itemReconfigures.contains(item.id)
        || !keeps(.onlyChangesListed)
    }
    add("reload", withKind: true) { item, previous in
      previous.map { isReload(item, $0) }
        ?? (forced.itemReloads.contains(item.id) && !keeps(.insertedOnce))
    }
    return units
  }

  private func isReload(_ item: OracleItem, _ previous: OracleItem) -> Bool {
    item.kind != previous.kind && keeps(.changedKindReloads) || forced.itemReloads.contains(item.id)
  }

  /// All elements of a feed, as listed in a reload.
  static func reloadUnits(_ feed: OracleFeed) -> [OracleUnit] {
    feed.sections.flatMap { section -> [OracleUnit] in
      var head = OracleText()
      head.addField("id", string: section.id, isFirst: true)
      head.addContent(of: section)
      let items = section.items.map { item in
        var text = OracleText()
        text.add("{")
        text.addField("id", string: item.id, isFirst: true)
        if !item.kind.isEmpty || keeps(.kindAndDataPresent) { text.addField("kind", string: item.kind) }
        text.addContent(of: item)
        text.add("}")
        return OracleUnit(place: .item(section: section.id), bytes: text.bytes)
      }
      return [OracleUnit(place: .section(id: section.id), bytes: head.bytes)] + items
    }
  }
}

extension OracleSection {
  /// Whether everything except the items is the same.
  fileprivate func hasContent(of other: OracleSection) -> Bool {
    data == other.data && (order == other.order || !keeps(.orderReconfigures))
      && (keep == other.keep || !keeps(.keepReconfigures)) && (ttl == other.ttl || !keeps(.ttlReconfigures))
  }
}

/// The sections and items that a difference lists as moved.
struct OracleMoves: Equatable {
  var sections: Set<[UInt8]> = []
  /// Items that moved within a section or to another one.
  var items: Set<[UInt8]> = []
}

/// The elements common to both states of a list, and the rules for listing them as moved.
struct OracleOrder {
  /// The list's name, for messages.
  let name: String
  /// In the order of the result.
  let elements: [[UInt8]]
  /// The position of each among the same elements in the base.
  let basePositions: [Int]
  /// Whether the list was given completely.
  let isReplaced: Bool
  /// The number of elements that single events placed.
  let placedCount: Int

  init(name: String, base: [[UInt8]], result: [[UInt8]], isReplaced: Bool, placed: Set<[UInt8]>) {
    self.name = name
    let known = Dictionary(uniqueKeysWithValues: base.enumerated().map { ($1, $0) })
    elements = result.filter { known[$0] != nil }
    basePositions = elements.compactMap { known[$0] }
    self.isReplaced = isReplaced
    placedCount = elements.count { placed.contains($0) }
  }

  /// The minimum number of moves from the base's order to the result's.
  var fewest: Int { elements.count - Self.longestIncreasing(basePositions).count }

  /// The maximum number of moves that may be listed.
  var most: Int { isReplaced ? fewest : max(fewest, placedCount) }

  /// One of the minimal sets of moves.
  var fewestMoves: Set<[UInt8]> {
    let kept = Set(Self.longestIncreasing(basePositions).map { elements[$0] })
    return Set(elements).subtracting(kept)
  }

  /// Why these moves are not valid; nil if they are.
  func complaint(about moved: Set<[UInt8]>) -> String? {
    let count = elements.count { moved.contains($0) }
    func isInOrder(_ moved: Set<[UInt8]>) -> Bool {
      let fixed = zip(elements, basePositions).filter { !moved.contains($0.0) }.map(\.1)
      return zip(fixed, fixed.dropFirst()).allSatisfy { $0 < $1 }
    }
    guard isInOrder(moved) else { return "\(name): what is not moved does not keep its order" }
    guard count <= most else {
      return "\(name): \(count) moves, \(fewest) are needed and \(most) allowed"
        + (isReplaced ? " (the list was replaced)" : " (placed one by one)")
    }
    // No move of a minimal set can be omitted.
    if count == fewest { return nil }
    for element in elements where moved.contains(element) && isInOrder(moved.subtracting([element])) {
      return "\(name): the move of \(String(decoding: element, as: UTF8.self)) is idle"
    }
    return nil
  }

  /// The indices of a longest strictly increasing subsequence.
  static func longestIncreasing(_ values: [Int]) -> [Int] {
    // The last index of the best subsequence of each length, and each index's predecessor.
    var ends: [Int] = []
    var previous: [Int?] = []
    for (index, value) in values.enumerated() {
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if values[ends[middle]] < value { low = middle + 1 } else { high = middle }
      }
      previous.append(low == 0 ? nil : ends[low - 1])
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var chain: [Int] = []
    var next = ends.last
    while let index = next {
      chain.append(index)
      next = previous[index]
    }
    return chain.reversed()
  }
}

/// The smallest piece of a changeset that is never split, as canonical bytes.
struct OracleUnit: Equatable {
  enum Place: Equatable {
    /// An entry of a difference: `group` is `sections` or `items`, `list` is `delete` and so on.
    case entry(group: String, list: String)
    /// The head of a section of a reload: `"id":…,"data":…`.
    case section(id: [UInt8])
    /// An item of a reload.
    case item(section: [UInt8])
  }

  let place: Place
  let bytes: [UInt8]
}
