/// A well-formed event; nil for absent fields, and fields that the op does not have.
struct OracleEvent: Sendable, Equatable {
  let op: OracleOp
  /// Its index in the record's array; nil if the value is a single event.
  let number: Int?
  var section: [UInt8]?
  var item: [UInt8]?
  var kind: [UInt8]?
  var data: OracleJSON?
  var order: OracleSetting<OracleSectionOrder>?
  var keep: OracleSetting<Int>?
  var ttl: OracleSetting<Int>?
  var expires: OracleSetting<Int>?
  var place: OraclePlace?
  var items: [OracleListedItem] = []
  var sections: [OracleListedSection] = []
  var condition: OracleCondition?
  /// In their spelling in changesets, of a patch with `null` for ids.
  var refs: [UInt8]?

  init(op: OracleOp, number: Int?) {
    self.op = op
    self.number = number
  }
}

/// The fields of events.
enum OracleField: String {
  case sections, section, items, item, kind, data, expires, order, keep, ttl, at, refs
}

/// The operation of an event.
public enum OracleOp: String, Sendable, CaseIterable {
  case feedReplace = "feed.replace"
  case feedClear = "feed.clear"
  case feedDelete = "feed.delete"
  case feedReload = "feed.reload"
  case sectionUpsert = "section.upsert"
  case sectionReplace = "section.replace"
  case sectionMove = "section.move"
  case sectionDelete = "section.delete"
  case sectionReload = "section.reload"
  case itemUpsert = "item.upsert"
  case itemPatch = "item.patch"
  case itemMove = "item.move"
  case itemDelete = "item.delete"
  case itemReconfigure = "item.reconfigure"
  case itemReload = "item.reload"

  /// Its fields in the order of the table in the protocol, section 2.2, and whether each is required.
  var fields: [(field: OracleField, isRequired: Bool)] {
    switch self {
    case .feedReplace: [(.sections, true)]
    case .feedClear, .feedDelete, .feedReload: []
    case .sectionUpsert:
      [(.section, true), (.data, false), (.order, false), (.keep, false), (.ttl, false), (.at, false)]
    case .sectionReplace:
      [
        (.section, true), (.items, true), (.data, false), (.order, false), (.keep, false), (.ttl, false),
        (.at, false),
      ]
    case .sectionMove: [(.section, true), (.at, true)]
    case .sectionDelete, .sectionReload: [(.section, true)]
    case .itemUpsert:
      [
        (.item, true), (.section, false), (.kind, false), (.data, false), (.expires, false), (.at, false),
        (.refs, false),
      ]
    case .itemPatch: [(.item, true), (.data, true), (.expires, false), (.refs, false)]
    case .itemMove: [(.item, true), (.section, false), (.at, false)]
    case .itemDelete, .itemReconfigure, .itemReload: [(.item, true)]
    }
  }

  private static let rules = Dictionary(
    uniqueKeysWithValues: allCases.map { op in
      (op, Rule.allCases.first { $0.rawValue == "2.2 \(op.rawValue)" })
    }
  )

  /// The rule that the operation has its effect.
  var rule: Rule { Self.rules[self].flatMap(\.self) ?? .allOrNothing }
}

/// A field that may also be `null`, which is not the same as a missing one.
struct OracleSetting<Value: Sendable & Equatable>: Sendable, Equatable {
  /// nil for `null`.
  let value: Value?
}

/// An event's `at`.
public enum OraclePlace: Sendable, Equatable {
  case first
  case last
  case before([UInt8])
  case after([UInt8])
  case index(Int)

  /// The position for an element in a list without it; nil if the anchor is not in the list.
  func position(in others: [[UInt8]]) -> Int? {
    switch self {
    case .first: keeps(.atFirst) ? 0 : others.count
    case .last: keeps(.atLast) ? others.count : 0
    case .before(let anchor): others.firstIndex(of: anchor).map { keeps(.atBefore) ? $0 : $0 + 1 }
    case .after(let anchor): others.firstIndex(of: anchor).map { keeps(.atAfter) ? $0 + 1 : $0 }
    case .index(let index): index <= others.count ? index : keeps(.atPastEnd) ? others.count : nil
    }
  }
}

/// An element of an `items` list; nil for absent fields.
struct OracleListedItem: Sendable, Equatable {
  let id: [UInt8]
  let kind: [UInt8]?
  let data: [UInt8]?
  let expires: OracleSetting<Int>?
  let refs: [UInt8]?

  /// The resulting item, where `known` is the feed's item with that id.
  ///
  /// - Parameter end: the end in a section of a time to live.
  func item(keeping known: OracleItem?, until end: Int?, _ contents: OracleContents) -> OracleItem {
    var item = known.flatMap { keeps(.listedFieldsStay) ? $0 : nil } ?? .new(id)
    item.kind = kind ?? item.kind
    item.set(own: data ?? item.own, refs: refs ?? item.refs, contents)
    if let expires {
      item.expires = expires.value
    } else if let end, keeps(.listsRenew) {
      item.expires = end
    }
    return item
  }
}

/// An element of a `sections` list; without `items`, its list is empty.
struct OracleListedSection: Sendable, Equatable {
  let id: [UInt8]
  let data: [UInt8]?
  let order: OracleSetting<OracleSectionOrder>?
  let keep: OracleSetting<Int>?
  let ttl: OracleSetting<Int>?
  let items: [OracleListedItem]
  let hasItems: Bool
}

/// Why a record was rejected.
public struct OracleRejection: Error, Sendable, Equatable {
  public let code: OracleRejectCode
  /// The index of the event at fault; nil if it is the whole record.
  public let event: Int?
  /// The field at fault, if any.
  public let field: String?
  /// The exceeded limit on state, if any; a message must name it.
  public let limit: String?

  public init(_ code: OracleRejectCode, event: Int? = nil, field: String? = nil) {
    self.code = code
    self.event = event
    self.field = field
    limit = nil
  }

  /// A limit on state is exceeded.
  init(limit: String, event: Int?) {
    code = .limitExceeded
    self.event = event
    field = nil
    self.limit = limit
  }
}

/// The codes of rejected records.
public enum OracleRejectCode: String, Sendable, CaseIterable {
  case missingKey = "missing-key"
  case invalidUTF8 = "invalid-utf8"
  case invalidJSON = "invalid-json"
  case unknownOp = "unknown-op"
  case missingField = "missing-field"
  case invalidField = "invalid-field"
  case duplicateID = "duplicate-id"
  case unknownAnchor = "unknown-anchor"
  case unknownSection = "unknown-section"
  case orderedSection = "ordered-section"
  case conditionFailed = "condition-failed"
  case limitExceeded = "limit-exceeded"
}
