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

  /// Whether nothing but the standing is different.
  func isSame(as other: FeedView) -> Bool {
    isPending == other.isPending && epoch == other.epoch && revision == other.revision
      && sections.elementsEqual(other.sections)
  }
}

/// The common part of sections and items. Two elements are equal if they are the same object: elements that did not change are.
public class FeedElement: Hashable, @unchecked Sendable {
  let content: ElementContent
  /// Whether a write that is not confirmed has changed it. A section's items say that of themselves.
  public let isPending: Bool

  /// Its data as the producer spelled it, without white space.
  public var dataText: String { content.text }
  /// Its data, parsed when it is needed for the first time.
  public var data: JSONValue { content.value }
  /// Its data as a value of a type of yours, decoded when it is needed for the first time.
  public func data<Value: Decodable & Sendable>(as type: Value.Type) throws -> Value {
    try content.decoded(type)
  }

  fileprivate init(_ content: ElementContent, isPending: Bool) {
    (self.content, self.isPending) = (content, isPending)
  }

  public static func == (one: FeedElement, other: FeedElement) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Data as text, which keeps what was made of it.
final class ElementContent: @unchecked Sendable {
  // One for all elements: it is held for a few loads and stores.
  private static let lock = NSLock()
  let text: String
  private var parsed: JSONValue?
  private var last: (any Sendable)?

  init(_ text: String) { self.text = text }

  var value: JSONValue {
    if let parsed = Self.lock.withLock({ parsed }) { return parsed }
    let made = (try? JSONValue(text: text)) ?? .null
    Self.lock.withLock { parsed = made }
    return made
  }

  func decoded<Value: Decodable & Sendable>(_ type: Value.Type) throws -> Value {
    if let known = Self.lock.withLock({ last }) as? Value { return known }
    let made = try JSONDecoder().decode(type, from: Data(text.utf8))
    Self.lock.withLock { last = made }
    return made
  }
}

/// A section of a `FeedView`. See there for its identity.
public final class FeedSection: FeedElement, Identifiable, @unchecked Sendable {
  public let id: SectionID
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

  init(_ draft: SectionDraft) {
    id = draft.id
    order = draft.order
    keep = draft.keep
    items = draft.items
    from = draft.from
    of = draft.total ?? draft.items.count
    super.init(draft.content, isPending: draft.isPending)
  }

  func equals(_ other: FeedSection) -> Bool {
    id == other.id && haveSameBytes(dataText, other.dataText) && order == other.order && keep == other.keep
      && from == other.from && of == other.of && isPending == other.isPending
      && items.count == other.items.count
      && zip(items, other.items).allSatisfy { $0 === $1 }
  }
}

/// By what a section is sorted.
public struct OrderKey: Hashable, Sendable {
  /// A JSON Pointer into the data of items.
  public let by: String
  public let isDescending: Bool
}

/// An item of a `FeedView`. See there for its identity.
public final class FeedItem: FeedElement, Identifiable, @unchecked Sendable {
  public let id: ItemID
  /// The type of its cell.
  public let kind: String
  /// The id of its section.
  public let section: SectionID
  /// When the store deletes it, as RFC 3339 text; nil if it does not end.
  public var expires: String? { extras.expires }
  /// The ids of the contents in its data, by name; nil if it refers to none.
  public var refs: [String: String]? { extras.refs }
  private let extras: Extras

  struct Extras: Equatable {
    var expires: String?
    var refs: [String: String]?
  }

  init(
    id: ItemID,
    kind: String,
    section: SectionID,
    content: ElementContent,
    isPending: Bool = false,
    extras: Extras = Extras()
  ) {
    (self.id, self.kind, self.section, self.extras) = (id, kind, section, extras)
    super.init(content, isPending: isPending)
  }

  convenience init(id: ItemID, kind: String, section: SectionID, dataText: String) {
    self.init(id: id, kind: kind, section: section, content: ElementContent(dataText))
  }

  func equals(_ other: FeedItem) -> Bool {
    id == other.id && haveSameBytes(kind, other.kind) && section == other.section
      && haveSameBytes(dataText, other.dataText) && isPending == other.isPending && extras == other.extras
  }

  /// The item with other content or in another section; itself if nothing is different.
  func with(
    kind: String? = nil,
    section: SectionID? = nil,
    dataText: String? = nil,
    isPending: Bool? = nil,
    extras: Extras? = nil
  ) -> FeedItem {
    let other = FeedItem(
      id: id,
      kind: kind ?? self.kind,
      section: section ?? self.section,
      content: dataText.map { haveSameBytes($0, content.text) ? content : ElementContent($0) } ?? content,
      isPending: isPending ?? self.isPending,
      extras: extras ?? self.extras
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
  /// The view may be outdated. `detail` is an explanation for people; `until` is when a connection is tried again.
  case stale(Reason, detail: String? = nil, until: Date? = nil)

  public enum Reason: String, Hashable, Sendable {
    /// There is no connection.
    case disconnected
    /// The feed is being sent again.
    case mustRefetch = "must-refetch"
    /// Another instance has the feed now, and it is being looked for.
    case moved
    /// The instance does not serve feeds at the moment.
    case unavailable
    /// The token is missing, or was refused.
    case tokenNeeded = "token-needed"
    /// The token does not allow reading the feed, or has ended.
    case forbidden
    /// The instance does not understand the request.
    case badRequest = "bad-request"
  }

  /// Why a view is stale; nil if it is not.
  public var reason: Reason? { if case .stale(let reason, _, _) = self { reason } else { nil } }
  public var detail: String? { if case .stale(_, let detail, _) = self { detail } else { nil } }
  public var until: Date? { if case .stale(_, _, let until) = self { until } else { nil } }

  /// For one standing of several feeds.
  var severity: Int {
    switch self {
    case .live: 0
    case .catchingUp: 1
    case .connecting: 2
    case .stale: 3
    }
  }
}
