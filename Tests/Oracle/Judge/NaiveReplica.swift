/// Applies changesets as described in the protocol, section 11.5: plain, slow, and independent of `Replica`.
public enum NaiveReplica {
  /// The feed after a changeset; nil if it was deleted.
  ///
  /// - Parameter parts: the parsed values of all parts, in order; one if it is not split.
  /// - Throws: ``JudgeFailure`` for a position that does not exist.
  public static func apply(_ parts: [OracleJSON], to feed: OracleFeed?) throws(JudgeFailure) -> OracleFeed? {
    switch parts.first?.last("mode")?.string.map(text) {
    case "delete": nil
    case "reload": try reload(parts)
    default: try applyEntries(parts, to: feed ?? OracleFeed())
    }
  }

  private static func reload(_ parts: [OracleJSON]) throws(JudgeFailure) -> OracleFeed {
    var feed = OracleFeed()
    for (number, part) in joined(parts, "the sections of a reload").enumerated() {
      for (place, json) in (part.last("sections")?.elements ?? []).enumerated() {
        let isOfLast = feed.sections.last.map { $0.id == id(json) || !keeps(.continuedSameID) } ?? false
        let isFirst = number > 0 && place == 0
        let continues =
          isOfLast && (isFirst || keeps(.continuedInOnePart))
          && (json.last("data") == nil || !keeps(.listedAgainIsNew) && feed.sections.last?.id == id(json))
        // A continuation: listed again, without data.
        if continues, keeps(.continuedSections) {
          feed.sections[feed.sections.count - 1].items += items(json)
          continue
        }
        if json.last("data") == nil, keeps(.sectionHasData) {
          throw JudgeFailure("section \(text(id(json))) has no data")
        }
        feed.sections.append(section(json, .reloadedOrder, items: items(json)))
      }
    }
    let ids = feed.sections.map { Set($0.items.map(\.id)) }
    try check(
      Set(feed.sectionIDs).count == feed.sections.count || !keeps(.reloadSectionsUnique),
      "a section",
      [],
      0
    )
    let isUnique = zip(feed.sections, ids).allSatisfy { $0.items.count == $1.count }
    try check(isUnique || !keeps(.reloadItemsUnique), "an item", [], 0)
    let count = ids.reduce(0) { $0 + $1.count }
    try check(Set(feed.itemIDs).count == count || !keeps(.reloadItemsUniqueInFeed), "an item", [], 0)
    return feed
  }

  /// The parts that count for a list: all, unless a rule is broken.
  private static func joined(_ parts: [OracleJSON], _ list: String) -> [OracleJSON] {
    if parts.count == 1 { return parts }
    if !keeps("11.4 \(list) of all parts are joined: the first part's count") { return [parts[0]] }
    if !keeps("11.4 \(list) of all parts are joined: the last part's count") {
      return [parts[parts.count - 1]]
    }
    return parts
  }

  /// A section of a reload or of an entry.
  private static func section(_ json: OracleJSON, _ rule: Rule, items: [OracleItem] = []) -> OracleSection {
    // An order or a bound of another form counts as none.
    let order = keeps(rule) ? json.last("order") : nil
    let keep = keeps(rule) ? json.last("keep") : nil
    return OracleSection(
      id: id(json),
      data: data(json),
      order: order.flatMap(OracleSectionOrder.init),
      keep: keep.flatMap(OracleKeep.number),
      ttl: keeps(rule) ? json.last("ttl").flatMap(OracleEnd.ttl) : nil,
      items: items
    )
  }

  private static func items(_ json: OracleJSON) -> [OracleItem] {
    (json.last("items")?.elements ?? []).map(item)
  }

  private static func item(_ json: OracleJSON) -> OracleItem {
    OracleItem(
      id: id(json),
      kind: json.last("kind")?.string ?? [],
      data: data(json),
      expires: end(json),
      refs: refs(json)
    )
  }

  private static func end(_ json: OracleJSON) -> Int? {
    json.last("expires").flatMap(OracleEnd.published)
  }

  private static func refs(_ json: OracleJSON) -> [UInt8] {
    json.last("refs").flatMap { OracleReferences.canonical($0) } ?? []
  }

  private static func id(_ json: OracleJSON, _ name: String = "id") -> [UInt8] {
    json.last(name)?.string ?? []
  }

  private static func data(_ json: OracleJSON) -> [UInt8] { json.last("data")?.minified ?? [] }

  private static func number(_ json: OracleJSON, _ name: String) -> Int {
    json.last(name).flatMap { Int(text($0.minified)) } ?? -1
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// An element that is inserted at a position or moved to it.
  private struct Arrival<Element> {
    let section: [UInt8]
    let index: Int
    let element: Element
    let isMove: Bool
  }

  private static func applyEntries(
    _ parts: [OracleJSON],
    to base: OracleFeed
  ) throws(JudgeFailure) -> OracleFeed {
    func list(_ group: String, _ name: String) -> [OracleJSON] {
      joined(parts, "\(group).\(name)").flatMap { $0.last(group)?.last(name)?.elements ?? [] }
    }
    var feed = base
    // Remove deleted and moved elements by their base positions, from the last, so that positions stay valid.
    var moved: [[UInt8]: OracleItem] = [:]
    var leaving: [(section: [UInt8], index: Int, id: [UInt8], isMove: Bool)] = []
    for entry in list("items", "delete") {
      leaving.append((id(entry, "section"), number(entry, "index"), id(entry), false))
    }
    let deletedSections = Set(list("sections", "delete").map { id($0) })
    for entry in list("items", "move") {
      guard let from = entry.last("from") else { continue }
      if deletedSections.contains(id(from, "section")), !keeps(.leavesDeletedSection) {
        throw JudgeFailure("an item leaves a deleted section")
      }
      leaving.append((id(from, "section"), number(from, "index"), id(entry), true))
      moved[id(entry)] = base.item(id(entry))
    }
    if keeps(.baseAsAWhole) { leaving.sort { $0.index > $1.index } }
    var marks: [[UInt8]: Bool] = [:]
    for (section, index, id, isMove) in leaving {
      if let mark = marks.updateValue(isMove, forKey: id) {
        let rule: Rule = mark != isMove ? .itemDeletedAndMoved : isMove ? .itemMovedTwice : .itemDeletedTwice
        try check(!keeps(rule), "item", id, index)
        continue
      }
      let rules: (Rule, Rule) =
        isMove ? (.movedItemChecked, .movedItemSection) : (.deletedItemChecked, .deletedItemSection)
      guard let place = try item(index, of: section, in: feed, id, rules) else { continue }
      feed.sections[place.section].items.remove(at: place.index)
    }
    let deletedItems = Set(list("items", "delete").map { id($0) })
    var movedSections: [[UInt8]: OracleSection] = [:]
    var leavingSections = list("sections", "delete").map { (number($0, "index"), id($0), false) }
    for entry in list("sections", "move") {
      leavingSections.append((number(entry, "from"), id(entry), true))
      movedSections[id(entry)] = feed.section(id(entry))
    }
    marks = [:]
    for (index, id, isMove) in leavingSections.sorted(by: { $0.0 > $1.0 }) {
      if let mark = marks.updateValue(isMove, forKey: id) {
        let rule: Rule =
          mark != isMove ? .sectionDeletedAndMoved : isMove ? .sectionMovedTwice : .sectionDeletedTwice
        try check(!keeps(rule), "section", id, index)
        continue
      }
      let rule = isMove ? Rule.movedSectionChecked : .deletedSectionChecked
      guard let place = try section(index, in: feed, id, rule) else { continue }
      feed.sections.remove(at: place)
    }
    // Insert elements by their result positions, from the first.
    var arriving: [Arrival<OracleSection>] = []
    for entry in list("sections", "insert") {
      let (name, index) = (id(entry), number(entry, "index"))
      let isThere = feed.section(name) != nil || movedSections[name] != nil
      try check(!isThere || !keeps(.insertedSectionNew), "section", name, index)
      let isTwice = arriving.contains { $0.element.id == name }
      try check(!isTwice || !keeps(.insertedSectionOnce), "section", name, index)
      try check(!deletedSections.contains(name) || keeps(.deletedSectionIsGone), "section", name, index)
      let new = section(entry, .insertedOrder)
      arriving.append(Arrival(section: [], index: index, element: new, isMove: false))
    }
    for entry in list("sections", "move") {
      guard let section = movedSections.removeValue(forKey: id(entry)) else { continue }
      arriving.append(Arrival(section: [], index: number(entry, "to"), element: section, isMove: true))
    }
    if keeps(.ascendingSections) { arriving.sort { $0.index < $1.index } }
    for (number, arrival) in arriving.enumerated() {
      let rules: [Rule] = [.insertedSectionsDiffer, .arrivingSectionsDiffer, .movedSectionsDiffer]
      try check(isFree(number, arriving, rules), "section", arrival.element.id, arrival.index)
      let rule = arrival.isMove ? Rule.movedSectionPlace : .insertedSectionPlace
      let isPlace = (0...feed.sections.count).contains(arrival.index) || !keeps(rule)
      try check(isPlace, "section", arrival.element.id, arrival.index)
      feed.sections.insert(arrival.element, at: max(0, min(arrival.index, feed.sections.count)))
    }
    var arrivingItems: [Arrival<OracleItem>] = []
    for entry in list("items", "insert") {
      let (name, index) = (id(entry), number(entry, "index"))
      let isThere = feed.item(name) != nil || moved[name] != nil
      try check(!isThere || !keeps(.insertedItemNew), "item", name, index)
      let isTwice = arrivingItems.contains { $0.element.id == name }
      try check(!isTwice || !keeps(.insertedItemOnce), "item", name, index)
      let wasIn = base.location(of: name).map { base.sections[$0.section].id }
      let rule = deletedItems.contains(name) ? Rule.deletedIsGone : .deletedWithSectionIsGone
      try check(wasIn == nil || isThere || keeps(rule), "item", name, index)
      arrivingItems.append(
        Arrival(section: id(entry, "section"), index: index, element: item(entry), isMove: false)
      )
    }
    for entry in list("items", "move").reversed() {
      guard let to = entry.last("to"), let item = moved.removeValue(forKey: id(entry)) else { continue }
      let place = (section: id(to, "section"), index: number(to, "index"))
      arrivingItems.append(Arrival(section: place.section, index: place.index, element: item, isMove: true))
    }
    if keeps(.ascendingItems) { arrivingItems.sort { $0.index < $1.index } }
    for (number, arrival) in arrivingItems.enumerated() {
      let (item, index) = (arrival.element, arrival.index)
      guard let place = feed.sectionIndex(of: arrival.section) else {
        if !keeps(.targetSectionExists) { continue }
        throw JudgeFailure(
          "item \(text(item.id)) goes to section \(text(arrival.section)), which is not there"
        )
      }
      let count = feed.sections[place].items.count
      let rules: [Rule] = [.insertedItemsDiffer, .arrivingItemsDiffer, .movedItemsDiffer]
      try check(isFree(number, arrivingItems, rules), "item", item.id, index)
      let rule = arrival.isMove ? Rule.movedItemPlace : .insertedItemPlace
      try check((0...count).contains(index) || !keeps(rule), "item", item.id, index)
      feed.sections[place].items.insert(item, at: max(0, min(index, count)))
    }
    let names = ["reconfigure", "reload"]
    for name in keeps(.sectionReconfigureThenReload) ? names : names.reversed() {
      let isReload = name == "reload"
      for entry in list("sections", name) {
        let rule = isReload ? Rule.reloadedSectionChecked : .changedSectionChecked
        guard let place = try section(number(entry, "index"), in: feed, id(entry), rule) else { continue }
        let old = feed.sections[place]
        feed.sections[place] = section(entry, .changedOrder, items: old.items)
        if !keeps(isReload ? .sectionReloadData : .sectionReconfigureData) {
          feed.sections[place].data = old.data
        }
        if entry.last("order") == nil, !keeps(.changedOrderNone) { feed.sections[place].order = old.order }
        if entry.last("keep") == nil, !keeps(.changedOrderNone) { feed.sections[place].keep = old.keep }
      }
    }
    for name in keeps(.reconfigureThenReload) ? names : names.reversed() {
      let isReload = name == "reload"
      let rules: (Rule, Rule) =
        isReload
        ? (.reloadedItemChecked, .reloadedItemSection) : (.reconfiguredItemChecked, .reconfiguredItemSection)
      for entry in list("items", name) {
        let index = number(entry, "index")
        guard let place = try item(index, of: id(entry, "section"), in: feed, id(entry), rules) else {
          continue
        }
        if keeps(isReload ? .itemReloadData : .itemReconfigureData) {
          feed.sections[place.section].items[place.index].data = data(entry)
          feed.sections[place.section].items[place.index].expires = end(entry)
          feed.sections[place.section].items[place.index].refs = refs(entry)
        }
        let hasKind = isReload ? keeps(.itemReloadKind) : !keeps(.reconfiguredKindStays)
        if let kind = entry.last("kind")?.string, hasKind {
          feed.sections[place.section].items[place.index].kind = kind
        }
      }
    }
    return feed
  }

  /// Whether no other element comes to the same position of the same list.
  ///
  /// - Parameter rules: the rules of two insertions, of an insertion and a move, and of two moves.
  private static func isFree<Element>(_ number: Int, _ all: [Arrival<Element>], _ rules: [Rule]) -> Bool {
    let one = all[number]
    return all.enumerated().allSatisfy { place, other in
      if place == number || other.index != one.index { return true }
      if other.section != one.section { return keeps(.placesBySection) }
      return !keeps(rules[(one.isMove ? 1 : 0) + (other.isMove ? 1 : 0)])
    }
  }

  /// The position of an item that must be at this index of its section; only without a rule it may be elsewhere, or nowhere.
  private static func item(
    _ index: Int,
    of section: [UInt8],
    in feed: OracleFeed,
    _ id: [UInt8],
    _ rules: (place: Rule, section: Rule)
  ) throws(JudgeFailure) -> OracleFeed.Location? {
    if let place = feed.location(of: id), place.index == index,
      feed.sections[place.section].id == section || !keeps(rules.section)
    {
      return place
    }
    try check(!keeps(rules.place), "item", id, index)
    return feed.location(of: id)
  }

  /// The position of a section that must be at this index, in the same way.
  private static func section(
    _ index: Int,
    in feed: OracleFeed,
    _ id: [UInt8],
    _ rule: Rule
  ) throws(JudgeFailure) -> Int? {
    let place = feed.sectionIndex(of: id)
    try check(place == index || !keeps(rule), "section", id, index)
    return place
  }

  private static func check(
    _ isThere: Bool,
    _ what: String,
    _ id: [UInt8],
    _ index: Int
  ) throws(JudgeFailure) {
    if !isThere { throw JudgeFailure("\(what) \(text(id)) cannot be at index \(index)") }
  }
}
