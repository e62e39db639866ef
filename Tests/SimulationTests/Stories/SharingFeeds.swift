import FeedStore
import ObservationSupport
import Oracle

/// Feeds whose items refer to contents, computed plainly from the committed records (protocol, section 2.16), and what is wrong
/// with those that are published.
struct SharingFeeds {
  private struct Item {
    var section: String
    /// An object.
    var own: String
    var references: [(name: String, id: String)] = []
  }

  private struct Version {
    /// Minified JSON.
    var value: String
    var partition: Int32 = 0
    var offset: Int64 = -1
  }

  /// The items of each feed after each of its records.
  private var states: [OracleFeedKey: [(offset: Int64, items: [String: Item])]] = [:]
  /// All that each content has been, in order, beginning with nothing.
  private var contents: [String: [Version]] = [:]
  /// The versions that items have shown, by the names of feed, item, reference and content.
  private var shown: [String: Int] = [:]
  private(set) var violations: [String] = []

  // MARK: Input

  /// An invalid record deletes the content.
  mutating func take(content record: TopicRecord) {
    let id = text(record.key ?? [])
    let json = record.value.flatMap { try? OracleJSON.parse($0) }
    var value = "null"
    if let json, case .object = json.content { value = text(json.minified) }
    contents[id, default: [Version(value: "null")]]
      .append(Version(value: value, partition: record.partition, offset: record.offset))
  }

  mutating func take(event record: TopicRecord) {
    guard let id = record.key, id.starts(with: Story.sharing.utf8),
      let events = record.value.flatMap({ try? OracleJSON.parse($0).elements })
    else { return }
    let key = OracleFeedKey(partition: Int(record.partition), id: id)
    var items = states[key]?.last?.items ?? [:]
    for event in events {
      let item = text(event.last("item")?.string ?? [])
      var members: [(name: String, id: String?)]?
      if case .object(let refs)? = event.last("refs")?.content {
        members = refs.map { (text($0.name), $0.value.string.map(text)) }
      }
      let own = event.last("data").map { text($0.minified) }
      switch text(event.last("op")?.string ?? []) {
      case "feed.delete": items = [:]
      case "item.delete": items[item] = nil
      case "item.upsert":
        let section = text(event.last("section")?.string ?? [])
        var new = items[item] ?? Item(section: section, own: "null")
        new.own = own ?? new.own
        if let members { new.references = members.compactMap { name, id in id.map { (name, $0) } } }
        items[item] = new
      case "item.patch":
        guard var new = items[item] else { continue }
        // It has one member.
        new.own = own ?? new.own
        for (name, id) in members ?? [] {
          let place = new.references.firstIndex { $0.name == name }
          switch (place, id) {
          case (let place?, let id?): new.references[place].id = id
          case (let place?, nil): new.references.remove(at: place)
          case (nil, let id?): new.references.append((name, id))
          case (nil, nil): continue
          }
        }
        items[item] = new
      default: continue
      }
    }
    states[key, default: []].append((record.offset, items))
  }

  // MARK: Output

  /// The feed of a changeset; nil for others.
  func key(of record: TopicRecord, _ topics: TopicNames) -> OracleFeedKey? {
    guard topics.contents != nil, record.topic == topics.changesets, let head = try? ChangesetHead(record)
    else { return nil }
    return head.key.id.starts(with: Story.sharing.utf8) ? head.key : nil
  }

  /// Checks a changeset: entries that only contents caused change something, and no item shows an older content than before.
  mutating func check(
    _ record: TopicRecord,
    before: ObservedFeed?,
    after: ObservedFeed?,
    _ key: OracleFeedKey
  ) {
    guard let after, let head = try? ChangesetHead(record), let json = head.json else { return }
    let place = "\(text(key.id)) of partition \(key.partition), revision \(head.revision)"
    if let before, before.through == head.through, before.epoch == head.epoch {
      for entry in json.last("items")?.last("reconfigure")?.elements ?? [] {
        let id = entry.last("id")?.string ?? []
        guard let item = before.feed.item(id) else { continue }
        if item.data == entry.last("data")?.minified, item.refs == entry.last("refs")?.minified ?? [] {
          violations.append("\(place) repeats item \(text(id)), although nothing has changed")
        }
      }
    }
    let through = Int64(after.through.values.max() ?? -1)
    let newest = record.headers["feedstore.contents"].flatMap { try? OracleJSON.parse(Array($0.utf8)) }
    var problems: [String] = []
    var found = shown
    problems += compare(after.feed, items: states[key]?.last { $0.offset <= through }?.items ?? [:]) {
      item,
      name,
      id,
      value in
      let versions = contents[id] ?? [Version(value: "null")]
      let path = "\(key.partition) \(text(key.id)) \(item) \(name) \(id)"
      let former = found[path] ?? 0
      guard let number = versions.indices.first(where: { $0 >= former && versions[$0].value == value }) else {
        return "\(value) of \(id) after \(versions[former])"
      }
      found[path] = number
      let version = versions[number]
      let seen = newest?.last("\(version.partition)").flatMap { Int64(text($0.minified)) } ?? -1
      return version.offset <= seen ? nil : "\(version) of \(id), which is not in its header"
    }
    shown = found
    violations += problems.map { "\(place): \($0)" }
  }

  /// How the feeds differ from the final tables.
  func complaints(about feeds: [OracleFeedKey: ObservedFeed]) -> [String] {
    states.flatMap { key, states in
      compare(feeds[key]?.feed ?? OracleFeed(), items: states.last?.items ?? [:]) { _, _, id, value in
        let newest = contents[id]?.last?.value ?? "null"
        return value == newest ? nil : "\(value) of \(id), which is \(newest)"
      }.map { "\(text(key.id)) of partition \(key.partition): \($0)" }
    }
  }

  /// How a feed differs from items.
  ///
  /// - Parameter complaint: judges an item's member for a reference, whose name, content and value it gets.
  private func compare(
    _ feed: OracleFeed,
    items: [String: Item],
    _ complaint: (String, String, String, String) -> String?
  ) -> [String] {
    var complaints: [String] = []
    if Set(feed.itemIDs.map(text)) != Set(items.keys) {
      complaints.append("items \(feed.itemIDs.map(text)) instead of \(items.keys.sorted())")
    }
    for section in feed.sections {
      var places: [(score: Int, id: String)] = []
      for item in section.items {
        let id = text(item.id)
        guard let expected = items[id], let json = try? OracleJSON.parse(item.data) else { continue }
        var data = String(expected.own.dropLast())
        for (name, content) in expected.references {
          let value = json.last(name).map { text($0.minified) } ?? "nothing"
          data += ",\"\(name)\":\(value)"
          if let problem = complaint(id, name, content, value) {
            complaints.append("item \(id) has \(name) \(problem)")
          }
        }
        if expected.section != text(section.id) || data + "}" != text(item.data) {
          complaints.append("item \(id) is \(text(item.data)) instead of \(data)}")
        }
        let score = json.last("a")?.last("v").flatMap { Int(text($0.minified)) }
        places.append((score ?? .max, id))
      }
      if section.order != nil, !places.elementsEqual(places.sorted(by: <), by: ==) {
        complaints.append("section \(text(section.id)) is in the order \(places)")
      }
    }
    return complaints
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
