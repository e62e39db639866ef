import Foundation
import Oracle

/// Tables, each with a topic of its own.
public struct TableScripts: Sendable {
  private var tables: [(topic: String, script: TableScript)]

  public init(_ formats: [(topic: String, format: TableScript.Format)], seed: UInt64) {
    tables = formats.enumerated().map { ($1.topic, TableScript($1.format, seed: seed &+ UInt64($0))) }
  }

  public var count: Int { tables.count }
  public subscript(table: Int) -> TableScript { tables[table].script }

  /// Records that no mapping can map.
  public var unmappable: Int { tables.reduce(0) { $0 + $1.script.unmappable } }

  private var haveContents: Bool { tables.contains { $0.script.makesContents } }

  /// The value of `ingest.sources`. If one of the tables makes contents, the items of the others refer to them.
  public var sources: String {
    let haveContents = haveContents
    return "[" + tables.map { $0.script.source(topic: $0.topic, haveContents) }.joined(separator: ",") + "]"
  }

  /// The result of a query over all tables, which joins items with contents.
  public var query: [String: [String: [String]]] {
    let contents = tables.reduce(into: [:]) { $0.merge($1.script.contents) { $1 } }
    let shown = haveContents ? contents : nil
    return tables.reduce(into: [:]) { $0.merge($1.script.query(shown)) { $1 } }
  }

  /// Makes one change in a table.
  public mutating func step(_ table: Int) -> [(topic: String, record: TableScript.Record)] {
    let topic = tables[table].topic
    return tables[table].script.step().map { (topic, $0) }
  }
}

/// A table of orders that changes at random, and what a topic then has of it.
public struct TableScript: Sendable {
  /// A record of the source topic.
  public struct Record: Sendable {
    public var key: String?
    public var value: String?
    /// The row that it is about.
    public var row: Int
  }

  public enum Format: String, Sendable, CaseIterable {
    case debezium
    /// The same with the schema in each record.
    case debeziumWithSchema
    /// The same with ``TableScript/avroSchemas``.
    case debeziumAvro
    case json
    /// Change events of rows that become contents.
    case contents
  }

  public struct Row: Sendable, Equatable {
    var id: Int
    var customer: Int?
    /// The row of contents that it refers to.
    var contact: Int?
    var status: String?
    var region: String
    /// As it is spelled.
    var amount: String
    var note: String
    /// A large column.
    var document: String
    /// Differs in every change.
    var change: Int

    /// The row as its columns are spelled in events.
    ///
    /// - Parameter amount: its amount, as the event spells it.
    func json(amount: String, document: String? = nil) -> String {
      """
      {"id":\(id), "customer_id":\(customer.map(String.init) ?? "null"),"contact_id":\(contact.map(String.init) ?? "null"),"status":\(status.map { "\"\($0)\"" } ?? "null"),\
      "region":"\(region)","amount":\(amount),"a/b~c":"\(note)","document":\(document ?? self.document),"change":\(change)}
      """
    }

    /// Whether its item is in the same feed as another row's.
    func isBeside(_ other: Row) -> Bool {
      let isThere = [self, other].allSatisfy {
        ["eu", "us"].contains($0.region) && $0.status?.isEmpty == false
      }
      return isThere && customer != nil && customer == other.customer && id == other.id
    }
  }

  private var random: SplitMix64
  private let format: Format
  var isAvro: Bool { format == .debeziumAvro }
  var makesContents: Bool { format == .contents }
  private var hasSchema: Bool { isAvro || format == .debeziumWithSchema }
  private var rows: [Int: Row] = [:]
  private var changes = 0
  /// Records that no mapping can map.
  public private(set) var unmappable = 0

  private static let amounts = ["1", "1.0", "2.50", "-3", "1e2", "10", "0.1"]
  /// As numbers and as bytes of hundredths.
  private static let decimals = [
    "1.00": "ZA==", "2.50": "APo=", "-3.00": "/tQ=", "100.00": "JxA=", "0.01": "AQ==",
  ]
  private static let documents = ["null", "\"long\"", "{\"a\":null,\"b\":[1]}", "{\"c\":\"\"}"]
  private static let unavailable = ["\"__debezium_unavailable_value\"", "[\"__debezium_unavailable_value\"]"]
  private static let notes = ["", "plain", "caf\\u00e9", "\\\"quoted\\\"", "ünï", "a\\/b"]

  public init(_ format: Format, seed: UInt64) {
    random = SplitMix64(seed: seed)
    self.format = format
  }

  /// The element of `ingest.sources` for it.
  ///
  /// - Parameter refers: whether its items refer to contents.
  public func source(topic: String, _ refers: Bool = false) -> String {
    if makesContents {
      return """
        {topic: "\(topic)", format: "debezium", content: "contact-{/id}", data: ["a/b~c", "change"], where: {"/region": ["eu", "us"]}}
        """
    }
    let references = refers ? ", refs: {contact: \"contact-{/contact_id}\"}" : ""
    let name = format == .debeziumWithSchema ? "debezium" : isAvro ? "debezium-avro" : format.rawValue
    let (feed, item) =
      format == .json
      ? ("client-{key/customer}", "order-{key/id}") : ("customer-{/customer_id}", "order-{/id}")
    return """
      {topic: "\(topic)", format: "\(name)", feed: "\(feed)", section: "{/status}",
       item: "\(item)", kind: "{/region}", data: ["amount", "a/b~c", "document", "change"], where: {"/region": ["eu", "us"]},
       order: [{by: "/amount", direction: "descending"}, {by: "/change"}]\(references)}
      """
  }

  /// The contents that the table makes, by the numbers of their rows.
  var contents: [Int: String] {
    let shown = rows.values.filter { makesContents && ["eu", "us"].contains($0.region) }
    return Dictionary(
      uniqueKeysWithValues: shown.map { ($0.id, "{\"a/b~c\":\"\($0.note)\",\"change\":\($0.change)}") }
    )
  }

  /// What a query over the table gives: for each feed and section, the data of the items in order.
  ///
  /// - Parameter contents: what its items show; nil if they refer to nothing.
  public func query(_ contents: [Int: String]? = nil) -> [String: [String: [String]]] {
    if makesContents { return [:] }
    func shown(_ row: Row) -> String {
      guard let contents, let contact = row.contact else { return "" }
      return ",\"contact\":\(contents[contact] ?? "null")"
    }
    var feeds: [String: [String: [Row]]] = [:]
    for row in rows.values where ["eu", "us"].contains(row.region) {
      guard let customer = row.customer, let status = row.status, !status.isEmpty else { continue }
      feeds["\(format == .json ? "client" : "customer")-\(customer)", default: [:]][status, default: []]
        .append(row)
    }
    return feeds.mapValues { sections in
      sections.mapValues { rows in
        rows.sorted { (Double($1.amount)!, $0.change) < (Double($0.amount)!, $1.change) }.map { row in
          """
          order-\(row.id) \(row.region) {"amount":\(row.amount),"a/b~c":"\(row.note)","document":\(row.document),\
          "change":\(row.change)\(shown(row))}
          """
        }
      }
    }
  }

  /// Makes one change.
  public mutating func step() -> [Record] {
    changes += 1
    switch random.below(100) {
    case 0..<35: return insert()
    case 35..<75: return update()
    case 75..<92: return delete()
    case 92..<95: return truncate()
    case 95..<98: return snapshot()
    default: return format == .json ? update() : [Record(key: nil, value: noise(), row: 0)]
    }
  }

  private mutating func newRow(_ id: Int) -> Row {
    Row(
      id: id,
      customer: random.chance(90) ? random.below(4) : nil,
      contact: random.chance(70) ? random.below(30) : nil,
      status: random.pick(["open", "paid", "closed", "", nil]),
      region: random.pick(["eu", "us", "xx"]),
      amount: random.pick(hasSchema ? Self.decimals.keys.sorted() : Self.amounts),
      note: random.pick(isAvro ? Self.notes.filter { !$0.contains("\\") } : Self.notes),
      document: random.pick(Self.documents),
      change: changes
    )
  }

  private mutating func insert() -> [Record] {
    let id = random.below(40)
    guard rows[id] == nil else { return update() }
    let row = newRow(id)
    rows[id] = row
    return event("c", nil, row)
  }

  /// Changes one column, or the key.
  private mutating func update() -> [Record] {
    guard let old = rows.values.sorted(by: { $0.id < $1.id }).randomElement(using: &random) else {
      return insert()
    }
    var new = old
    let other = newRow(old.id)
    new.change = changes
    switch random.below(8) {
    case 6: new.contact = other.contact
    case 5: new.document = other.document
    case 0: new.customer = other.customer
    case 1: new.status = other.status
    case 2: new.region = other.region
    case 3: new.amount = other.amount
    case 4: new.note = other.note
    default:
      let id = 100 + random.below(100)
      guard rows[id] == nil else { return [] }
      rows[old.id] = nil
      new.id = id
      rows[id] = new
      return event("d", old, nil) + event("c", nil, new)
    }
    rows[old.id] = new
    return event("u", old, new)
  }

  private mutating func delete() -> [Record] {
    guard let old = rows.values.sorted(by: { $0.id < $1.id }).randomElement(using: &random) else { return [] }
    rows[old.id] = nil
    return event("d", old, nil)
  }

  /// A truncation cannot be mapped; what an operator does about it is here to delete the rows.
  private mutating func truncate() -> [Record] {
    let old = rows.values.sorted { $0.id < $1.id }
    rows = [:]
    let deletions = old.flatMap { event("d", $0, nil) }
    if format == .json { return deletions }
    unmappable += 1
    return [
      Record(key: nil, value: envelope("{\"before\":null,\"after\":null,\"op\":\"t\",\"ts_ms\":1}"), row: 0)
    ] + deletions
  }

  private mutating func snapshot() -> [Record] {
    rows.values.sorted { $0.id < $1.id }.flatMap { event("r", nil, $0) }
  }

  private mutating func noise() -> String {
    random.pick([
      "{\"ts_ms\":1795168800000}", "{\"status\":\"BEGIN\",\"id\":\"7\",\"event_count\":null}",
      envelope("{\"op\":\"m\",\"ts_ms\":1,\"message\":{}}"),
    ])
  }

  private func envelope(_ payload: String) -> String {
    guard hasSchema else { return payload }
    let decimal = """
      {"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"},"field":"amount"}
      """
    let row = "{\"type\":\"struct\",\"fields\":[\(decimal)],\"field\":\"after\"}"
    return "{\"schema\":{\"type\":\"struct\",\"fields\":[\(row)]},\"payload\":\(payload)}"
  }

  private func json(_ row: Row, document: String? = nil) -> String {
    let decimal = hasSchema ? Self.decimals[row.amount].map { "\"\($0)\"" } : nil
    return row.json(amount: decimal ?? row.amount, document: document)
  }

  private func key(_ row: Row) -> String {
    format == .json
      ? "{\"customer\":\(row.customer.map(String.init) ?? "null"),\"id\":\(row.id)}"
      : envelope("{\"id\":\(row.id)}")
  }

  private mutating func event(_ operation: String, _ old: Row?, _ new: Row?) -> [Record] {
    guard let row = new ?? old else { return [] }
    if let new, !makesContents {
      let passes = ["eu", "us"].contains(new.region)
      // Of a plain row, the key says who the customer is, whether the row passes or not.
      let hasFeed = new.customer != nil || format != .json && !passes
      if !hasFeed || passes && new.status?.isEmpty != false { unmappable += 1 }
    }
    if format == .json {
      // Another key is another record, and the former one is deleted.
      var records: [Record] = []
      if let old, new.map({ key($0) != key(old) }) ?? true {
        records.append(Record(key: key(old), value: nil, row: old.id))
        if old.customer == nil { unmappable += 1 }
      }
      if let new { records.append(Record(key: key(new), value: json(new), row: new.id)) }
      return records
    }
    var (before, after): (String?, String?) = (nil, new?.document)
    // The log has no value of a large column that did not change; of the former row it may have one.
    if let old, let new, old.document == new.document, random.chance(70) {
      after = random.pick(Self.unavailable)
      if old.isBeside(new), random.chance(50) { before = after }
    }
    let value = """
      {"before":\(old.map { json($0, document: before) } ?? "null"),"after":\(new.map { json($0, document: after) } ?? "null"),"source":{"table":"orders"},"op":"\(operation)","ts_ms":1}
      """
    let record = Record(key: key(row), value: envelope(value), row: row.id)
    guard operation == "d" else { return [record] }
    return [record, Record(key: key(row), value: nil, row: row.id)]
  }
}
