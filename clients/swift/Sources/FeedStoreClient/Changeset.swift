/// A record of the changesets topic, or a message of a stream, with a checked head. Its entries are checked when they are applied.
struct Changeset: Sendable {
  enum Mode: String { case reconfigure, diff, reload, delete }

  struct Head: Sendable {
    var epoch: String
    var revision: Int
    var base: Int
    var time: String
    var through: [String: Int]
    var checksum: String
    var reason: String?
  }

  let feed: FeedID
  let head: Head
  let mode: Mode
  let part: Int
  let parts: Int
  /// The whole record; the members `sections`, `items` and `window` are read from it.
  let body: JSONObject

  init(_ text: String) throws {
    let parsed: JSONText
    do { parsed = try JSONText(checking: text) } catch {
      throw ReplicaFault(.invalidChangeset, "the value is \(error)")
    }
    guard let body = JSONObject(parsed) else {
      throw ReplicaFault(.invalidChangeset, "the value is not a JSON object")
    }
    try self.init(body)
  }

  init(_ body: JSONObject) throws {
    func required<Value>(_ name: String, _ read: (JSONText) -> Value?) throws -> Value {
      guard let value = body[name].flatMap(read) else { throw Self.invalid(name, body[name]) }
      return value
    }
    func optional<Value>(_ name: String, _ read: (JSONText) -> Value?) throws -> Value? {
      body[name] == nil ? nil : try required(name, read)
    }
    feed = FeedID(try required("feed") { $0.string.flatMap { $0.isEmpty ? nil : $0 } })
    mode = try required("mode") { $0.string.flatMap(Mode.init) }
    part = try optional("part", \.count) ?? 0
    parts = try optional("parts") { $0.count.flatMap { $0 <= greatestKeyNumber + 1 ? $0 : nil } } ?? 1
    guard part < parts else { throw Self.invalid("part", body["part"]) }
    head = Head(
      epoch: try required("epoch", \.string),
      revision: try required("revision", \.count),
      base: try required("base", \.count),
      time: try required("time", \.string),
      through: try required("through", Self.through),
      checksum: try required("checksum") { $0.string.flatMap { Self.isChecksum($0) ? $0 : nil } },
      reason: try optional("reason", \.string)
    )
    self.body = body
  }

  /// Whether another part is of the same changeset.
  func isContinued(by other: Changeset) -> Bool {
    head.epoch == other.head.epoch && head.revision == other.head.revision && mode == other.mode
      && head.reason == other.head.reason && parts == other.parts && head.checksum == other.head.checksum
  }

  /// The members `window` of a window's changesets.
  var totals: [WindowTotal] { WindowTotal.list(body["window"]) }

  private static func through(_ text: JSONText) -> [String: Int]? {
    guard let members = text.members else { return nil }
    var result: [String: Int] = [:]
    for (name, value) in members {
      guard let name = name.string, isTopic(name) else { return nil }
      // Of several, the last one counts, so an earlier one may be anything.
      result[name] = value.count ?? -1
    }
    return result.count <= 200 && !result.values.contains(-1) ? result : nil
  }

  private static func isTopic(_ name: String) -> Bool {
    (1...249).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
          || "._-".utf8.contains($0)
      }
  }

  private static func isChecksum(_ text: String) -> Bool {
    text.utf8.count == 8 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  static func invalid(_ name: String, _ found: JSONText?) -> ReplicaFault {
    ReplicaFault(
      .invalidChangeset,
      "the \(name) is not valid: \(found.map { String($0.text.prefix(80)) } ?? "it is missing")"
    )
  }
}

/// How many items a section of a window shows, of how many.
struct WindowTotal {
  let section: SectionID
  let from: Int
  let of: Int

  static func list(_ text: JSONText?) -> [WindowTotal] {
    (text?.elements ?? []).compactMap { element in
      guard let object = JSONObject(element), let section = object["section"]?.string,
        let from = object["from"]?.count,
        let of = object["of"]?.count
      else { return nil }
      return WindowTotal(section: SectionID(section), from: from, of: of)
    }
  }
}

/// The greatest number in a key of the changesets topic.
let greatestKeyNumber = 1_000_000

/// An entry of a changeset, whose fields are checked as they are read.
struct ChangesetEntry {
  let object: JSONObject

  /// The entries of a list; a list that is absent is empty.
  static func list(_ text: JSONText?, _ name: String) throws -> [ChangesetEntry] {
    guard let text else { return [] }
    guard let elements = text.elements else { throw Changeset.invalid(name, text) }
    return try elements.map {
      guard let object = JSONObject($0) else { throw Changeset.invalid("entry of \(name)", $0) }
      return ChangesetEntry(object: object)
    }
  }

  func id(_ name: String = "id") throws -> String {
    guard let id = object[name]?.string, (1...255).contains(id.utf8.count) else {
      throw Changeset.invalid(name, object[name])
    }
    return id
  }

  func index(_ name: String = "index") throws -> Int {
    guard let index = object[name]?.count else { throw Changeset.invalid(name, object[name]) }
    return index
  }

  func kind() throws -> String {
    guard let kind = object["kind"]?.string, kind.utf8.count <= 255 else {
      throw Changeset.invalid("kind", object["kind"])
    }
    return kind
  }

  func data() throws -> String {
    guard let data = object["data"] else { throw Changeset.invalid("data", nil) }
    return data.compactText
  }

  func section() throws -> SectionDraft {
    SectionDraft(id: SectionID(try id()), dataText: try data(), order: order(), keep: keep())
  }

  func item(in section: SectionID) throws -> FeedItem {
    let (id, content) = (ItemID(try id()), ElementContent(try data()))
    return FeedItem(id: id, kind: try kind(), section: section, content: content, extras: extras)
  }

  /// A value of another form counts as none.
  var extras: FeedItem.Extras {
    let refs = object["refs"]?.members.map { members in
      Dictionary(members.map { ($0.name.string ?? "", $0.value.string ?? "") }) { $1 }
    }
    return FeedItem.Extras(expires: object["expires"]?.string, refs: refs)
  }

  /// A place of an item: in the entry itself, or in its member `from` or `to`.
  func itemPlace(_ name: String? = nil) throws -> FeedChange.ItemPlace {
    guard let name else {
      return FeedChange.ItemPlace(section: SectionID(try id("section")), index: try index())
    }
    guard let place = JSONObject(object[name]) else { throw Changeset.invalid(name, object[name]) }
    return try ChangesetEntry(object: place).itemPlace()
  }

  // A follower may ignore orders and bounds, so one that it does not understand is none.

  func order() -> [OrderKey]? {
    object["order"]?.elements.map { keys in
      keys.compactMap(JSONObject.init).map {
        OrderKey(by: $0["by"]?.string ?? "", isDescending: $0["direction"]?.string == "descending")
      }
    }
  }

  func keep() -> Int? { object["keep"]?.count }
}
