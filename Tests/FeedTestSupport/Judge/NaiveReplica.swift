/// Applies changesets as described in the protocol, section 11.5: plain, slow, and independent of `Replica`.
public enum NaiveReplica {
  /// The feed after a changeset; nil if it was deleted.
  ///
  /// - Parameter parts: the parsed values of all parts, in order; one if it is not split.
  /// - Throws: ``JudgeFailure`` for a position that does not exist.
  public static func apply(_ parts: [OracleJSON], to feed: OracleFeed?) throws(JudgeFailure) -> OracleFeed? {
    switch parts.first?.last("mode")?.string.map(text) {
    case "delete": nil
    case "reload": reload(parts)
    default: try applyEntries(parts, to: feed ?? OracleFeed())
    }
  }

  private static func reload(_ parts: [OracleJSON]) -> OracleFeed {
    var feed = OracleFeed()
    for json in parts.flatMap({ $0.last("sections")?.elements ?? [] }) {
      // A continuation of the previous part: listed again, without data.
      if json.last("data") == nil, feed.sections.last?.id == id(json) {
        feed.sections[feed.sections.count - 1].items += section(json).items
      } else {
        feed.sections.append(section(json))
      }
    }
    return feed
  }

  private static func section(_ json: OracleJSON) -> OracleSection {
    OracleSection(id: id(json), data: data(json), items: (json.last("items")?.elements ?? []).map(item))
  }

  private static func item(_ json: OracleJSON) -> OracleItem {
    OracleItem(id: id(json), kind: json.last("kind")?.string ?? [], data: data(json))
  }

  private static func id(_ json: OracleJSON, _ name: String = "id") -> [UInt8] {
    json.last(name)?.string ?? []
  }

  private static func data(_ json: OracleJSON) -> [UInt8] { json.last("data")?.minified ?? [] }

  private static func number(_ json: OracleJSON, _ name: String) -> Int {
    json.last(name).flatMap { Int(text($0.minified)) } ?? -1
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
    for (section, index, id) in leaving.sorted(by: { $0.index > $1.index }) {
      let place = try item(index, of: section, in: feed, id)
      feed.sections[place].items.remove(at: index)
    }
    var movedSections: [[UInt8]: OracleSection] = [:]
    var leavingSections = list("sections", "delete").map { (number($0, "index"), id($0)) }
    for entry in list("sections", "move") {
      leavingSections.append((number(entry, "from"), id(entry)))
      movedSections[id(entry)] = feed.section(id(entry))
    }
    for (index, id) in leavingSections.sorted(by: { $0.0 > $1.0 }) {
      try check(feed.sections.indices.contains(index) && feed.sections[index].id == id, "section", id, index)
      feed.sections.remove(at: index)
    }
    // Insert elements by their result positions, from the first.
    var arriving = list("sections", "insert").map { entry in
      (number(entry, "index"), OracleSection(id: id(entry), data: data(entry), items: []))
    }
    for entry in list("sections", "move") {
      if let section = movedSections[id(entry)] { arriving.append((number(entry, "to"), section)) }
    }
    for (index, section) in arriving.sorted(by: { $0.0 < $1.0 }) {
      let isFree = arriving.count { $0.0 == index } == 1
      try check(isFree && (0...feed.sections.count).contains(index), "section", section.id, index)
      feed.sections.insert(section, at: index)
    }
    var arrivingItems = list("items", "insert").map { (id($0, "section"), number($0, "index"), item($0)) }
    for entry in list("items", "move") {
      guard let to = entry.last("to"), let item = moved[id(entry)] else { continue }
      arrivingItems.append((id(to, "section"), number(to, "index"), item))
    }
    for (section, index, item) in arrivingItems.sorted(by: { $0.1 < $1.1 }) {
      guard let place = feed.sectionIndex(of: section) else {
        throw JudgeFailure("item \(text(item.id)) goes to section \(text(section)), which is not there")
      }
      let isFree = arrivingItems.count { $0.0 == section && $0.1 == index } == 1
      try check(isFree && (0...feed.sections[place].items.count).contains(index), "item", item.id, index)
      feed.sections[place].items.insert(item, at: index)
    }
    for entry in list("sections", "reconfigure") + list("sections", "reload") {
      let index = number(entry, "index")
      let isThere = feed.sections.indices.contains(index) && feed.sections[index].id == id(entry)
      try check(isThere, "section", id(entry), index)
      feed.sections[index].data = data(entry)
    }
    let reconfigured = list("items", "reconfigure")
    for (position, entry) in (reconfigured + list("items", "reload")).enumerated() {
      let index = number(entry, "index")
      let place = try item(index, of: id(entry, "section"), in: feed, id(entry))
      feed.sections[place].items[index].data = data(entry)
      if position >= reconfigured.count, let kind = entry.last("kind")?.string {
        feed.sections[place].items[index].kind = kind
      }
    }
    return feed
  }

  /// The position of the section that has this item at this index.
  private static func item(
    _ index: Int,
    of section: [UInt8],
    in feed: OracleFeed,
    _ id: [UInt8]
  ) throws(JudgeFailure) -> Int {
    let place = feed.sectionIndex(of: section)
    let items = place.map { feed.sections[$0].items } ?? []
    try check(items.indices.contains(index) && items[index].id == id, "item", id, index)
    return place ?? 0
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
