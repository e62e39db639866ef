/// The operation of an event: the fifteen of the protocol, section 2.2.
enum Operation: UInt8 {
  case feedReplace, feedClear, feedDelete, feedReload
  case sectionUpsert, sectionReplace, sectionMove, sectionDelete, sectionReload
  case itemUpsert, itemPatch, itemMove, itemDelete, itemReconfigure, itemReload

  /// In the order of the cases.
  static let names = [
    "feed.replace", "feed.clear", "feed.delete", "feed.reload", "section.upsert", "section.replace",
    "section.move",
    "section.delete", "section.reload", "item.upsert", "item.patch", "item.move", "item.delete",
    "item.reconfigure",
    "item.reload",
  ]

  var name: String { Operation.names[Int(rawValue)] }

  /// The names of its fields.
  @inline(__always)
  var fieldNames: EventFields.Names {
    switch self {
    case .feedReplace: [.common, .sections]
    case .feedClear, .feedDelete, .feedReload: .common
    case .sectionUpsert: [.common, .section, .data, .order, .keep, .ttl, .at]
    case .sectionReplace: [.common, .section, .items, .data, .order, .keep, .ttl, .at]
    case .sectionMove: [.common, .section, .at]
    case .sectionDelete, .sectionReload: [.common, .section]
    case .itemUpsert: [.common, .item, .section, .kind, .data, .expires, .at, .refs]
    case .itemPatch: [.common, .item, .data, .expires, .refs]
    case .itemMove: [.common, .item, .section, .at]
    case .itemDelete, .itemReconfigure, .itemReload: [.common, .item]
    }
  }

  /// The operation with a name, or nil.
  init?(name: ByteSpan) {
    guard name.count >= 9, let operation = Operation.named(name) else { return nil }
    self = operation
  }

  private static func named(_ name: ByteSpan) -> Operation? {
    switch name[0] {
    case UInt8(ascii: "i"):
      if name.matches("item.patch") { return .itemPatch }
      if name.matches("item.upsert") { return .itemUpsert }
      if name.matches("item.move") { return .itemMove }
      if name.matches("item.delete") { return .itemDelete }
      if name.matches("item.reconfigure") { return .itemReconfigure }
      if name.matches("item.reload") { return .itemReload }
    case UInt8(ascii: "s"):
      if name.matches("section.upsert") { return .sectionUpsert }
      if name.matches("section.replace") { return .sectionReplace }
      if name.matches("section.move") { return .sectionMove }
      if name.matches("section.delete") { return .sectionDelete }
      if name.matches("section.reload") { return .sectionReload }
    case UInt8(ascii: "f"):
      if name.matches("feed.replace") { return .feedReplace }
      if name.matches("feed.clear") { return .feedClear }
      if name.matches("feed.delete") { return .feedDelete }
      if name.matches("feed.reload") { return .feedReload }
    default: break
    }
    return nil
  }
}

/// One decoded event. Its spans point into the record or the decoder's arena.
struct Event {
  var operation: Operation
  var item = ByteSpan.empty
  /// Empty when absent.
  var section = ByteSpan.empty
  var fields = ElementFields()
  var place: Place?
  /// The listed items of `section.replace`, in the decoder's list.
  var items = 0..<0
  /// The listed sections of `feed.replace`, in the decoder's list.
  var sections = 0..<0
}

/// An element of an `items` list.
struct ListedItem {
  let id: ByteSpan
  let hash: UInt32
  // Not all fields, because there are many items. References are in `RecordDecoder.listedReferences`.
  let kind: ByteSpan?
  let data: ByteSpan?
  let expires: NumberField

  @inline(__always)
  init(id: ByteSpan, hash: UInt32, fields: ElementFields) {
    self.id = id
    self.hash = hash
    kind = fields.kind
    data = fields.data
    expires = fields.lifetime
  }

  @inline(__always)
  var fields: ElementFields { ElementFields(kind: kind, data: data) }
}

/// An element of a `sections` list.
struct ListedSection {
  var id: ByteSpan
  var hash: UInt32
  var fields: ElementFields
  var items: Range<Int>
}

/// The requested position of an element in its list, which does not count the element itself.
enum Place {
  case first
  case last
  case before(ByteSpan)
  case after(ByteSpan)
  /// Beyond the end means last.
  case index(Int)
}

/// The events of one record. Not an array, which would check for other owners with every record.
struct EventList: ~Copyable {
  private var events: UnsafeMutablePointer<Event> = .allocate(capacity: 1)
  private var capacity = 1
  private(set) var count = 0

  deinit { events.deallocate() }

  var first: Event? { count == 0 ? nil : events[0] }

  subscript(number: Int) -> Event { event(number).pointee }

  /// The address of an event, which avoids a copy; valid until the list is changed.
  @inline(__always)
  func event(_ number: Int) -> UnsafePointer<Event> {
    precondition(number >= 0 && number < count, "the record has no such event")
    return UnsafePointer(events + number)
  }

  /// Constructs an event in place; it is added if the body does not throw.
  @inline(__always)
  mutating func append<Failure: Error>(
    _ body: (UnsafeMutablePointer<Event>) throws(Failure) -> Void
  ) throws(Failure) {
    if count == capacity { grow() }
    // An event owns nothing.
    try body(events + count)
    count += 1
  }

  /// Removes the events, which own nothing.
  @inline(__always)
  mutating func removeAll() { count = 0 }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<Event>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: events, count: count)
    events.deallocate()
    events = larger
    capacity *= 2
  }
}

/// Why an event had no effect: the element does not exist. Counted, not rejected.
public enum NoOpReason: String, Sendable, CaseIterable {
  case unknownItem = "unknown-item"
  case unknownSection = "unknown-section"
  case unknownFeed = "unknown-feed"
  /// The whole record was published already, and is skipped.
  case alreadyApplied = "already-applied"
}
