import Foundation

/// A feed at one moment: an immutable value that you can keep.
///
/// **Stable identity.** Sections and items are objects that never change. One that an update does not concern is the same object
/// (`===`) before and after it, also after a reload; one that changed is a new object with the same id. So comparing objects finds
/// exactly the cells to draw again. A section is a new object if it or one of its items has changed.
public struct FeedView: Sendable {
  public let feed: FeedID
  public internal(set) var standing: Standing
  /// The version; nil before the first state, and if the feed does not exist.
  var head: Changeset.Head?
  var state = FeedState()
  /// Whether a write that is not confirmed is shown.
  public internal(set) var isPending = false

  init(feed: FeedID, standing: Standing) {
    self.feed = feed
    self.standing = standing
  }

  /// Whether there is a feed to show. False before the first state, and when the feed was deleted.
  public var exists: Bool { head != nil }
  /// The name of this life of the feed: another epoch is another feed of the same id.
  public var epoch: String? { head?.epoch }
  /// The changesets that this epoch has had.
  public var revision: Int? { head?.revision }
  /// The time of the newest record (RFC 3339).
  public var time: String? { head?.time }
  /// For each input topic, the offset of the newest record.
  public var through: [String: Int] { head?.through ?? [:] }
  /// The checksum of the order and the kinds of what is confirmed.
  public var checksum: String? { head?.checksum }

  /// The sections in order.
  public var sections: [FeedSection] { state.sections }
  /// How many items are shown.
  public var itemCount: Int { state.itemsById.count }
  public func section(_ id: SectionID) -> FeedSection? { state.sectionsById[id] }
  public func item(_ id: ItemID) -> FeedItem? { state.itemsById[id] }
}

/// A section of a `FeedView`. See there for its identity.
public final class FeedSection: Sendable, Identifiable {
  public let id: SectionID
  /// Its data as the producer spelled it, without white space.
  public let dataText: String
  /// By what it is sorted; nil if places are given by events.
  public let order: [OrderKey]?
  /// The most items that it keeps.
  public let keep: Int?
  /// Those that are shown, in order.
  public let items: [FeedItem]
  /// The position of the first item that is shown; 0 without a window.
  public let from: Int
  /// How many items the section has, inside and outside of the window.
  public let of: Int
  /// Whether a write that is not confirmed has changed it. Its items say that of themselves.
  public let isPending: Bool

  /// Its data, parsed again each time.
  public var data: JSONValue { (try? JSONValue(text: dataText)) ?? .null }

  /// Its data as a value of a type of yours.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(dataText.utf8))
  }

  init(_ draft: SectionDraft) {
    id = draft.id
    dataText = draft.dataText
    order = draft.order
    keep = draft.keep
    items = draft.items
    from = draft.from
    of = draft.total ?? draft.items.count
    isPending = draft.isPending
  }

  func equals(_ other: FeedSection) -> Bool {
    id == other.id && haveSameBytes(dataText, other.dataText) && order == other.order && keep == other.keep
      && from == other.from && of == other.of && isPending == other.isPending
      && items.count == other.items.count
      && zip(items, other.items).allSatisfy { $0 === $1 }
  }
}

// Two elements are equal if they are the same object: elements that did not change are.

extension FeedSection: Hashable {
  public static func == (one: FeedSection, other: FeedSection) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension FeedItem: Hashable {
  public static func == (one: FeedItem, other: FeedItem) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// By what a section is sorted.
public struct OrderKey: Hashable, Sendable {
  /// A JSON Pointer into the data of items.
  public let by: String
  public let isDescending: Bool
}

/// An item of a `FeedView`. See there for its identity.
public final class FeedItem: Sendable, Identifiable {
  public let id: ItemID
  /// The type of its cell.
  public let kind: String
  /// The id of its section.
  public let section: SectionID
  /// Its data as the producer spelled it, without white space.
  public let dataText: String
  /// Whether a write that is not confirmed has changed it.
  public let isPending: Bool

  /// Its data, parsed again each time.
  public var data: JSONValue { (try? JSONValue(text: dataText)) ?? .null }

  /// Its data as a value of a type of yours.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(dataText.utf8))
  }

  init(id: ItemID, kind: String, section: SectionID, dataText: String, isPending: Bool = false) {
    self.id = id
    self.kind = kind
    self.section = section
    self.dataText = dataText
    self.isPending = isPending
  }

  func equals(_ other: FeedItem) -> Bool {
    id == other.id && haveSameBytes(kind, other.kind) && section == other.section
      && haveSameBytes(dataText, other.dataText) && isPending == other.isPending
  }

  /// The item with other content or in another section; itself if nothing is different.
  func with(
    kind: String? = nil,
    section: SectionID? = nil,
    dataText: String? = nil,
    isPending: Bool? = nil
  ) -> FeedItem {
    let other = FeedItem(
      id: id,
      kind: kind ?? self.kind,
      section: section ?? self.section,
      dataText: dataText ?? self.dataText,
      isPending: isPending ?? self.isPending
    )
    return equals(other) ? self : other
  }
}

/// How up to date a view is.
public enum Standing: Hashable, Sendable {
  /// A connection is being made, or there is no listener.
  case connecting
  /// The connection is open, and what was missed is arriving.
  case catchingUp
  /// Everything that is published has arrived.
  case live
  /// The view may be outdated.
  case stale(Reason)

  public enum Reason: Hashable, Sendable {
    /// There is no connection; it is tried again at that time.
    case disconnected(until: Date)
    /// The feed is being sent again.
    case mustRefetch
    /// Another instance has the feed now, and it is being looked for.
    case moved
    /// The instance does not serve feeds at the moment, for this reason.
    case unavailable(String)
    /// The token is missing, or was refused for this reason.
    case tokenNeeded(String)
    /// The token does not allow to read the feed, or has ended.
    case forbidden(String)
    /// The instance does not understand the request; the text names what.
    case badRequest(String)
  }
}
