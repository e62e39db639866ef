/// A change that is asked for: an operation of the protocol.
public struct FeedEvent: Hashable, Sendable {
  /// As JSON.
  public let text: String

  /// An event as JSON text; the daemon checks it.
  public init(json: String) { text = json }

  private init(_ operation: String, _ members: [(name: String, text: String?)]) {
    let rest = members.compactMap { name, text in text.map { ",\"\(name)\":\($0)" } }
    text = "{\"op\":\"\(operation)\"\(rest.joined())}"
  }

  private static func quoted(_ text: String) -> String { JSONValue.quoted(text) }

  /// Creates an item, which requires its section, or changes its content, end, place or section. What is nil is left as it is.
  ///
  /// - Parameter expires: when the store deletes the item, as RFC 3339 text.
  public static func upsert(
    _ item: ItemID,
    section: SectionID? = nil,
    kind: String? = nil,
    data: JSONValue? = nil,
    expires: String? = nil,
    at: Place<ItemID>? = nil
  ) -> FeedEvent {
    self.item(item, section: section, kind: kind, data: data?.text, expires: expires, at: at)
  }

  static func item(
    _ item: ItemID,
    section: SectionID?,
    kind: String?,
    data: String?,
    expires: String? = nil,
    at: Place<ItemID>?
  ) -> FeedEvent {
    FeedEvent(
      "item.upsert",
      [
        ("item", quoted(item.rawValue)), ("section", section.map { quoted($0.rawValue) }),
        ("kind", kind.map(quoted)), ("data", data), ("expires", expires.map(quoted)), ("at", at?.text),
      ]
    )
  }

  /// Changes an item's data by a merge patch (RFC 7396): members replace, `nil` removes.
  public static func patch(_ item: ItemID, _ data: JSONValue) -> FeedEvent {
    FeedEvent("item.patch", [("item", quoted(item.rawValue)), ("data", data.text)])
  }

  /// Moves an item to a place, to another section (there to its end), or to a place of another section.
  public static func move(_ item: ItemID, to section: SectionID? = nil, at: Place<ItemID>? = nil) -> FeedEvent
  {
    FeedEvent(
      "item.move",
      [("item", quoted(item.rawValue)), ("section", section.map { quoted($0.rawValue) }), ("at", at?.text)]
    )
  }

  public static func move(_ item: ItemID, to place: Place<ItemID>) -> FeedEvent { move(item, at: place) }

  public static func delete(_ item: ItemID) -> FeedEvent {
    FeedEvent("item.delete", [("item", quoted(item.rawValue))])
  }

  /// Creates a section, or changes its data or place. What is nil is left as it is.
  public static func upsert(
    section: SectionID,
    data: JSONValue? = nil,
    at: Place<SectionID>? = nil
  ) -> FeedEvent { self.section(section, data: data?.text, at: at) }

  static func section(_ section: SectionID, data: String?, at: Place<SectionID>?) -> FeedEvent {
    FeedEvent("section.upsert", [("section", quoted(section.rawValue)), ("data", data), ("at", at?.text)])
  }

  public static func move(section: SectionID, at: Place<SectionID>) -> FeedEvent {
    FeedEvent("section.move", [("section", quoted(section.rawValue)), ("at", at.text)])
  }

  public static func move(section: SectionID, to place: Place<SectionID>) -> FeedEvent {
    move(section: section, at: place)
  }

  public static func delete(section: SectionID) -> FeedEvent {
    FeedEvent("section.delete", [("section", quoted(section.rawValue))])
  }

  /// Where an element goes in its list.
  public enum Place<ID: Hashable & Sendable>: Hashable, Sendable {
    case first, last
    case index(Int)
    case before(ID)
    case after(ID)

    fileprivate var text: String {
      func id(_ id: ID) -> String { JSONValue.quoted("\(id)") }
      return switch self {
      case .first: "\"first\""
      case .last: "\"last\""
      case .index(let index): "{\"index\":\(index)}"
      case .before(let other): "{\"before\":\(id(other))}"
      case .after(let other): "{\"after\":\(id(other))}"
      }
    }
  }
}

/// Conditions of a write, which must all hold.
public struct FeedCondition: Hashable, Sendable {
  fileprivate let text: String

  /// - Parameters:
  ///   - revision: That of a snapshot of the whole feed: nothing has changed since. 0 if there must be no feed.
  ///   - absent: An item that the feed must not have.
  ///   - item: An item that it must have.
  ///   - data: Values that the data of `item` must have, by JSON Pointers: strings, numbers, booleans or null.
  public init(
    revision: Int? = nil,
    epoch: String? = nil,
    absent: ItemID? = nil,
    item: ItemID? = nil,
    data: [String: JSONValue] = [:]
  ) {
    let values = data.sorted { $0.key < $1.key }.map { "\(JSONValue.quoted($0)):\($1.text)" }
    let members: [(String, String?)] = [
      ("revision", revision.map { "\($0)" }), ("epoch", epoch.map { JSONValue.quoted($0) }),
      ("absent", absent.map { JSONValue.quoted($0.rawValue) }),
      ("item", item.map { JSONValue.quoted($0.rawValue) }),
      ("data", data.isEmpty ? nil : "{\(values.joined(separator: ","))}"),
    ]
    let texts = members.compactMap { name, text in text.map { "\"\(name)\":\($0)" } }
    text = "{\(texts.joined(separator: ","))}"
  }
}

extension FeedEvent {
  /// The event with a condition as its first member.
  func with(_ condition: FeedCondition) -> FeedEvent {
    guard let brace = text.firstIndex(of: "{") else { return self }
    return FeedEvent(json: "{\"if\":\(condition.text)," + text[text.index(after: brace)...])
  }
}

/// What the daemon says of a write that is accepted.
public struct Written: Hashable, Sendable {
  public let feed: FeedID
  /// Where the record is. `offset` is nil in the rare case that brokers do not name it.
  public let topic: String
  public let partition: Int
  public let offset: Int?
  /// What is published covers the record; nil if that is not known yet, or if the feed does not exist any more.
  public let epoch: String?
  public let revision: Int?
  /// Whether the record has changed the feed; nil if that is not known.
  public let changed: Bool?

  init?(_ object: JSONObject, feed: FeedID) {
    guard let topic = object["topic"]?.string, let partition = object["partition"]?.count else { return nil }
    self.feed = feed
    self.topic = topic
    self.partition = partition
    offset = object["offset"]?.count
    epoch = object["epoch"]?.string
    revision = object["revision"]?.count
    changed = object["changed"].map { $0.text == "true" }
  }
}

/// The record was rejected: it changed nothing.
public struct WriteRejected: Error, Hashable, Sendable, CustomStringConvertible {
  public let code: String
  public let message: String

  public var description: String { "\(code): \(message)" }
}

/// The record was not written, or it is not known whether it was.
public struct WriteFailed: Error, Hashable, Sendable, CustomStringConvertible {
  /// The code of the daemon's response, if there is one.
  public var code: String?
  public let message: String
  /// Whether the write may be published nevertheless.
  public var wasSent = true

  public var description: String {
    guard wasSent else { return "\(message); nothing was written" }
    return
      "\(message). The write may nevertheless be published; chapter 10.2 of docs/protocol.md says whether it is safe to send it again"
  }
}
