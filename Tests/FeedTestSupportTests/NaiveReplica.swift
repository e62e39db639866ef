import FeedTestSupport

/// Applies unsplit changesets as section 4 words it, from the records alone.
enum NaiveReplica {
  /// The feed after a record's changeset; nil: it was deleted.
  static func apply(_ value: [UInt8], to feed: OracleFeed?) throws -> OracleFeed? {
    let changeset = try OracleJSON.parse(value)
    switch changeset.last("mode")?.string.map(text) {
    case "delete": return nil
    case "reload": return OracleFeed(sections: (changeset.last("sections")?.elements ?? []).map(section))
    default: return applyEntries(changeset, to: feed ?? OracleFeed())
    }
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

  private static func applyEntries(_ changeset: OracleJSON, to base: OracleFeed) -> OracleFeed {
    func list(_ group: String, _ name: String) -> [OracleJSON] {
      changeset.last(group)?.last(name)?.elements ?? []
    }
    var feed = base
    // Take out, by base positions, what is deleted or moved; last first, so that positions hold.
    var moved: [[UInt8]: OracleItem] = [:]
    var leaving: [(section: [UInt8], index: Int)] = []
    for entry in list("items", "delete") { leaving.append((id(entry, "section"), number(entry, "index"))) }
    for entry in list("items", "move") {
      guard let from = entry.last("from") else { continue }
      leaving.append((id(from, "section"), number(from, "index")))
      moved[id(entry)] = base.item(id(entry))
    }
    for (section, index) in leaving.sorted(by: { $0.index > $1.index }) {
      guard let place = feed.sectionIndex(of: section) else { continue }
      feed.sections[place].items.remove(at: index)
    }
    var movedSections: [[UInt8]: OracleSection] = [:]
    var leavingSections = list("sections", "delete").map { number($0, "index") }
    for entry in list("sections", "move") {
      leavingSections.append(number(entry, "from"))
      movedSections[id(entry)] = feed.section(id(entry))
    }
    for index in leavingSections.sorted(by: >) { feed.sections.remove(at: index) }
    // Put in, by result positions, first first.
    var arriving = list("sections", "insert").map { (number($0, "index"), section($0)) }
    for entry in list("sections", "move") {
      if let section = movedSections[id(entry)] { arriving.append((number(entry, "to"), section)) }
    }
    for (index, section) in arriving.sorted(by: { $0.0 < $1.0 }) { feed.sections.insert(section, at: index) }
    var arrivingItems = list("items", "insert").map { (id($0, "section"), number($0, "index"), item($0)) }
    for entry in list("items", "move") {
      guard let to = entry.last("to"), let item = moved[id(entry)] else { continue }
      arrivingItems.append((id(to, "section"), number(to, "index"), item))
    }
    for (section, index, item) in arrivingItems.sorted(by: { $0.1 < $1.1 }) {
      guard let place = feed.sectionIndex(of: section) else { continue }
      feed.sections[place].items.insert(item, at: index)
    }
    for entry in list("sections", "reconfigure") + list("sections", "reload") {
      feed.sections[number(entry, "index")].data = data(entry)
    }
    for entry in list("items", "reconfigure") + list("items", "reload") {
      guard let place = feed.sectionIndex(of: id(entry, "section")) else { continue }
      let index = number(entry, "index")
      feed.sections[place].items[index].data = data(entry)
      if let kind = entry.last("kind")?.string { feed.sections[place].items[index].kind = kind }
    }
    return feed
  }
}
