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
    for json in parts.flatMap({ $0.last("sections")?.elements ?? [] }) {
      // A continuation of the previous part: listed again, without data.
      if json.last("data") == nil, feed.sections.last?.id == id(json), keeps(.continuedSections) {
        feed.sections[feed.sections.count - 1].items += items(json)
      } else {
        feed.sections.append(try section(json, .reloadedOrder, items: items(json)))
      }
    }
    return feed
  }

  /// A section of a reload or of an entry.
  private static func section(
    _ json: OracleJSON,
    _ rule: Rule,
    items: [OracleItem] = []
  ) throws(JudgeFailure) -> OracleSection {
    let order = keeps(rule) ? json.last("order") : nil
    let keep = keeps(rule) ? json.last("keep") : nil
    let section = OracleSection(
      id: id(json),
      data: data(json),
      order: order.flatMap(OracleSectionOrder.init),
      keep: keep.flatMap(OracleKeep.number),
      items: items
    )
    guard (section.order == nil) == (order == nil), (section.keep == nil) == (keep == nil) else {
      throw JudgeFailure("section \(text(section.id)) has no proper order or keep")
    }
    return section
  }

  private static func items(_ json: OracleJSON) -> [OracleItem] {
    (json.last("items")?.elements ?? []).map(item)
  }

  private static func item(_ json: OracleJSON) -> OracleItem {
    OracleItem(id: id(json), kind: json.last("kind")?.string ?? [], data: data(json))
  }

  private static func id(_ json: OracleJSON, _ name: String = "id") -> [UInt8] {
    json.last(name)?.string ?? []
  }

  private static func data(_ json: OracleJSON) -> [UInt8] { json.last("data")?.minified ?? [] }

  private static func number(_ json: OracleJSON, _ name: String) -> Int {
    json.last(name).flatMap { Int(text($0.minified)) } ?? (keeps(.entryHasIndex) ? -1 : 0)
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func applyEntries(
    _ parts: [OracleJSON],
    to base: OracleFeed
  ) throws(JudgeFailure) -> OracleFeed {
    func list(_ group: String, _ name: String) -> [OracleJSON] {
      parts.flatMap { $0.last(group)?.last(name)?.elements ?? [] }
    }
    var feed = base
    // Remove deleted and moved elements by their base positions, from the last, so that positions stay valid.
    var moved: [[UInt8]: OracleItem] = [:]
    var leaving: [(section: [UInt8], index: Int, id: [UInt8])] = []
    for entry in list("items", "delete") {
      leaving.append((id(entry, "section"), number(entry, "index"), id(entry)))
    }
    for entry in list("items", "move") {
      guard let from = entry.last("from") else { continue }
      leaving.append((id(from, "section"), number(from, "index"), id(entry)))
      moved[id(entry)] = base.item(id(entry))
    }
    if keeps(.baseAsAWhole) { leaving.sort { $0.index > $1.index } }
    for (section, index, id) in leaving {
      let rule = moved[id] == nil ? Rule.deletedItemChecked : .movedItemChecked
      guard let place = try item(index, of: section, in: feed, id, rule) else { continue }
      feed.sections[place.section].items.remove(at: place.index)
    }
    var movedSections: [[UInt8]: OracleSection] = [:]
    var leavingSections = list("sections", "delete").map { (number($0, "index"), id($0)) }
    for entry in list("sections", "move") {
      leavingSections.append((number(entry, "from"), id(entry)))
      movedSections[id(entry)] = feed.section(id(entry))
    }
    for (index, id) in leavingSections.sorted(by: { $0.0 > $1.0 }) {
      let rule = movedSections[id] == nil ? Rule.deletedSectionChecked : .movedSectionChecked
      guard let place = try section(index, in: feed, id, rule) else { continue }
      feed.sections.remove(at: place)
    }
    // Insert elements by their result positions, from the first.
    var arriving: [(Int, OracleSection)] = []
    for entry in list("sections", "insert") {
      arriving.append((number(entry, "index"), try section(entry, .insertedOrder)))
    }
    for entry in list("sections", "move") {
      if let section = movedSections[id(entry)] { arriving.append((number(entry, "to"), section)) }
    }
    if keeps(.ascendingSections) { arriving.sort { $0.0 < $1.0 } }
    for (index, section) in arriving {
      let isFree = arriving.count { $0.0 == index } == 1 || !keeps(.sectionPlacesDiffer)
      let isPlace = (0...feed.sections.count).contains(index) || !keeps(.sectionPlaceExists)
      try check(isFree && isPlace, "section", section.id, index)
      feed.sections.insert(section, at: max(0, min(index, feed.sections.count)))
    }
    var arrivingItems = list("items", "insert").map { (id($0, "section"), number($0, "index"), item($0)) }
    for entry in list("items", "move") {
      guard let to = entry.last("to"), let item = moved[id(entry)] else { continue }
      arrivingItems.append((id(to, "section"), number(to, "index"), item))
    }
    if keeps(.ascendingItems) { arrivingItems.sort { $0.1 < $1.1 } }
    for (section, index, item) in arrivingItems {
      guard let place = feed.sectionIndex(of: section) else {
        if !keeps(.targetSectionExists) { continue }
        throw JudgeFailure("item \(text(item.id)) goes to section \(text(section)), which is not there")
      }
      let count = feed.sections[place].items.count
      let isFree =
        arrivingItems.count { $0.0 == section && $0.1 == index } == 1 || !keeps(.itemPlacesDiffer)
      let isPlace = (0...count).contains(index) || !keeps(.itemPlaceExists)
      try check(isFree && isPlace, "item", item.id, index)
      feed.sections[place].items.insert(item, at: max(0, min(index, count)))
    }
    for entry in list("sections", "reconfigure") + list("sections", "reload") {
      let place = try section(number(entry, "index"), in: feed, id(entry), .changedSectionChecked)
      guard let place else { continue }
      let old = feed.sections[place]
      feed.sections[place] = try section(entry, .changedOrder, items: old.items)
      if entry.last("order") == nil, !keeps(.changedOrderNone) { feed.sections[place].order = old.order }
      if entry.last("keep") == nil, !keeps(.changedOrderNone) { feed.sections[place].keep = old.keep }
    }
    for (name, rule) in [("reconfigure", Rule.reconfiguredItemChecked), ("reload", .reloadedItemChecked)] {
      for entry in list("items", name) {
        let index = number(entry, "index")
        guard let place = try item(index, of: id(entry, "section"), in: feed, id(entry), rule) else {
          continue
        }
        feed.sections[place.section].items[place.index].data = data(entry)
        if let kind = entry.last("kind")?.string, name == "reload" || !keeps(.reconfiguredKindStays) {
          feed.sections[place.section].items[place.index].kind = kind
        }
      }
    }
    return feed
  }

  /// The position of an item that must be at this index; only without the rule it may be elsewhere, or nowhere.
  private static func item(
    _ index: Int,
    of section: [UInt8],
    in feed: OracleFeed,
    _ id: [UInt8],
    _ rule: Rule
  ) throws(JudgeFailure) -> OracleFeed.Location? {
    if let place = feed.location(of: id), place.index == index, feed.sections[place.section].id == section {
      return place
    }
    try check(!keeps(rule), "item", id, index)
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
