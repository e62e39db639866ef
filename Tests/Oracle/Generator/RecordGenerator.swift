public import Feed

/// Generates random input: always the same records for the same seed and options.
///
/// Ids come from small pools, so that records interact: they create, delete and recreate elements, move them between
/// sections, and name existing and missing anchors.
public struct RecordGenerator: Sendable, CustomStringConvertible {
  static let feedIDs = ["hn", "a/b/c", "q\"u\\o", "\u{e9}", "e\u{301}", "k0/hn", "\u{1F600}", "line\nbreak"]
  static let sectionIDs = [
    "today", "live", "s/1", "\"", "\u{e9}", "e\u{301}", "\\", "\u{1D11E}", "\u{0}", "\t ",
  ]
  static let itemIDs = [
    "a", "b", "c", "d", "i\"1", "\\", "\u{e9}", "e\u{301}", "\u{1F600}", "\u{1}", "/", "\u{7f}", "\r\n",
    "null",
  ]

  public let seed: UInt64
  public let options: GeneratorOptions
  var speller: Speller
  private var offsets: [String: Int] = [:]
  private(set) var timestamp = 1_760_000_000_000

  public init(seed: UInt64, options: GeneratorOptions = GeneratorOptions()) {
    self.seed = seed
    self.options = options
    speller = Speller(seed: seed, isPlain: options.isPlain)
  }

  public var description: String { "RecordGenerator(seed: \(seed))" }

  /// The next records.
  public mutating func records(_ count: Int) -> [OracleRecord] {
    (0..<count).map { _ in next() }
  }

  /// The next record.
  public mutating func next() -> OracleRecord {
    if options.hasContents, random.chance(20) {
      let offset = nextOffset(Self.contentsTopic, 0)
      return content(offset: offset, timestamp: nextTimestamp())
    }
    let topic = random.pick(options.topics)
    let partition = random.below(options.partitionCount)
    var record = OracleRecord(
      topic: topic,
      partition: partition,
      offset: nextOffset(topic, partition),
      timestamp: nextTimestamp(),
      key: Array(feedID().utf8),
      value: nil
    )
    if random.chance(options.badPercent) {
      spoil(&record)
    } else if !random.chance(options.nullPercent) {
      record.value = Array(value(of: events()).utf8)
    }
    return record
  }

  var random: SplitMix64 {
    get { speller.random }
    set { speller.random = newValue }
  }

  private mutating func nextOffset(_ topic: String, _ partition: Int) -> Int {
    let place = "\(topic)/\(partition)"
    let next = offsets[place] ?? 0
    if next > 0, random.chance(options.repeatedOffsetPercent) { return next - 1 - random.below(min(next, 5)) }
    let offset = next + (random.chance(5) ? random.below(4) : 0)
    offsets[place] = offset + 1
    return offset
  }

  private mutating func nextTimestamp() -> Int {
    switch random.below(10) {
    case 0...3: break
    case 4...7: timestamp += random.below(40)
    case 8: timestamp += random.below(300)
    default: timestamp -= random.below(60)
    }
    return timestamp
  }

  // MARK: - Values

  private mutating func events() -> [String] {
    guard options.maxEvents > 1, random.chance(40) else { return [event()] }
    return (0..<random.below(options.maxEvents + 1)).map { _ in event() }
  }

  /// An event alone or in an array; several events in an array.
  mutating func value(of events: [String]) -> String {
    let value = events.count == 1 && random.chance(70) ? events[0] : speller.array(events)
    return speller.space() + value + speller.space()
  }

  /// A well-formed event.
  mutating func event() -> String {
    let bag = OracleOp.allCases.flatMap { Array(repeating: $0, count: options.weights[$0] ?? 4) }
    return event(random.pick(bag))
  }

  /// A well-formed event with this op.
  mutating func event(_ op: OracleOp) -> String {
    var members = [(name: "op", value: speller.string(op.rawValue))]
    var optional: [(name: String, value: String)] = []
    for (field, isRequired) in op.fields {
      if !options.hasOrders, field == .order || field == .keep { continue }
      if !options.hasEnds, field == .expires || field == .ttl { continue }
      if !options.hasContents, field == .refs { continue }
      // Without its section, a new item is rejected.
      let isUseful = op == .itemUpsert && field == .section
      if isUseful, !random.chance(85) { continue }
      let member = (field.rawValue, value(of: field, in: op))
      if isRequired || isUseful { members.append(member) } else { optional.append(member) }
    }
    members += some(optional)
    // Where an order says where an item goes, a place is rejected.
    if options.hasOrders, op.rawValue.hasPrefix("item."), random.chance(75) {
      members.removeAll { $0.name == "at" }
    }
    if options.hasConditions, random.chance(30) { members.append(("if", condition())) }
    if random.chance(3) { members.append(("unknown", speller.data())) }
    if random.chance(3) { members.insert(("op", "7"), at: 0) }
    if random.chance(10) { members.swapAt(members.count - 1, random.below(members.count)) }
    // A duplicate "op" must precede the real one.
    if let last = members.last(where: { $0.name == "op" }), last.value == "7" {
      members.append(("op", speller.string(op.rawValue)))
    }
    return speller.object(members)
  }

  private mutating func some(_ members: [(name: String, value: String)]) -> [(name: String, value: String)] {
    members.filter { _ in random.chance(55) }
  }

  private mutating func value(of field: OracleField, in op: OracleOp) -> String {
    switch field {
    case .sections: return sections()
    case .section: return speller.string(sectionID())
    case .items:
      var pool = shuffledItemIDs()
      return speller.array(items(from: &pool))
    case .item: return speller.string(itemID())
    case .kind: return speller.string(kind())
    case .data: return op.rawValue.hasPrefix("item.") ? itemData() : speller.data()
    case .order: return order()
    case .keep: return keep()
    case .ttl: return ttl()
    case .expires: return expires()
    case .refs: return references(isPatch: op == .itemPatch)
    case .at: return place(ofSection: op.rawValue.hasPrefix("section."))
    }
  }

  private mutating func itemData() -> String {
    options.hasContents ? ownData() : options.hasOrders ? orderedData() : speller.data()
  }

  private mutating func place(ofSection: Bool) -> String {
    switch random.below(10) {
    case 0: return speller.string("first")
    case 1: return speller.string("last")
    case 2...4:
      let index = random.chance(5) ? "123456789012345678901234567890" : String(random.below(8))
      return speller.object([("index", index)])
    default:
      let anchor = ofSection ? sectionID() : itemID()
      return speller.object([(random.pick(["before", "after"]), speller.string(anchor))])
    }
  }

  private mutating func shuffledItemIDs() -> [String] {
    let ids = (0..<options.itemCount).map { Self.id($0, options.isPlain ? [] : Self.itemIDs, "i") }
    return ids.shuffled(using: &speller.random)
  }

  /// Elements of an `items` list, with ids taken from the pool.
  private mutating func items(from pool: inout [String]) -> [String] {
    let ids = pool.prefix(random.below(pool.count + 1))
    pool.removeFirst(ids.count)
    return ids.map { id in
      if random.chance(50) { return speller.string(id) }
      var fields = [("kind", speller.string(kind())), ("data", itemData())]
      if options.hasEnds { fields.append(("expires", expires())) }
      if options.hasContents { fields.append(("refs", references(isPatch: false))) }
      fields = some(fields)
      return speller.object([("id", speller.string(id))] + fields)
    }
  }

  private mutating func sections() -> String {
    var pool = shuffledItemIDs()
    let count = random.below(options.sectionCount + 1)
    let ids = (0..<options.sectionCount).map { sectionID($0) }.shuffled(using: &speller.random)
    let sections = ids.prefix(count).map { id in
      let items = speller.array(items(from: &pool))
      var fields = [("data", speller.data()), ("items", items)]
      if options.hasOrders { fields += [("order", order()), ("keep", keep())] }
      if options.hasEnds { fields.append(("ttl", ttl())) }
      fields = some(fields)
      return speller.object([("id", speller.string(id))] + fields)
    }
    return speller.array(sections)
  }

  // MARK: - Ids

  private static func id(_ number: Int, _ names: [String], _ prefix: String) -> String {
    number < names.count ? names[number] : "\(prefix)\(number)"
  }

  private mutating func feedID() -> String {
    Self.id(random.below(options.feedCount), options.isPlain ? [] : Self.feedIDs, "f")
  }

  private func sectionID(_ number: Int) -> String {
    Self.id(number, options.isPlain ? [] : Self.sectionIDs, "s")
  }

  mutating func sectionID() -> String { sectionID(random.below(options.sectionCount)) }

  mutating func itemID() -> String {
    Self.id(random.below(options.itemCount), options.isPlain ? [] : Self.itemIDs, "i")
  }

  private mutating func kind() -> String {
    random.pick(["", "story", "ad", options.isPlain ? "job" : "k\"\u{e9}"])
  }
}

/// The options of a `RecordGenerator`.
public struct GeneratorOptions: Sendable {
  /// The numbers of feed, section and item ids: small pools collide often. Beyond the built-in lists
  /// (`RecordGenerator.feedIDs` and so on), ids are numbered.
  public var feedCount = 3
  public var sectionCount = 4
  public var itemCount = 9
  public var partitionCount = 2
  public var topics = ["feeds.items", "feeds.sections"]
  /// The maximum number of events in a record.
  public var maxEvents = 5
  /// The percentage of records to be rejected in any state.
  public var badPercent = 3
  /// The percentage of records with a null value.
  public var nullPercent = 2
  /// The percentage of records with a repeated offset.
  public var repeatedOffsetPercent = 1
  /// The limits that bad records exceed. `maxDataBytes`, `maxEvents` and `maxRecordBytes` are exceeded only if they are
  /// below 4096, because that takes large records.
  public var limits = Limits()
  /// Whether ids have only letters and digits, and data has no unusual spellings.
  public var isPlain = false
  /// Whether sections have orders and bounds, and items data to be ordered by.
  public var hasOrders = false
  /// Whether items and sections have ends.
  public var hasEnds = false
  /// Whether there are contents that items refer to.
  public var hasContents = false
  /// Whether some events have conditions.
  public var hasConditions = false
  /// Whether some conditions depend on where windows end.
  public var hasRevisions = true
  /// The weights of the ops; the default is 4.
  public var weights: [OracleOp: Int] = [
    .feedReplace: 1, .feedClear: 1, .feedDelete: 1, .feedReload: 1, .sectionReplace: 3,
    .sectionDelete: 2, .sectionReload: 1, .itemUpsert: 14, .itemMove: 8, .itemPatch: 6,
  ]

  public init() {}

  /// Few feeds and sections with many items, most of them ordered.
  public static var orderedSections: GeneratorOptions {
    var options = GeneratorOptions()
    options.addOrders()
    options.feedCount = 2
    options.sectionCount = 3
    options.itemCount = 14
    return options
  }

  /// Orders and bounds most sections, and updates their items more often.
  public mutating func addOrders() {
    hasOrders = true
    weights[.sectionUpsert] = 16
    weights[.sectionReplace] = 6
    weights[.itemUpsert] = 40
    weights[.itemPatch] = 50
  }
}

extension RecordGenerator {
  /// Turns a record into one that is rejected, with a randomly chosen code.
  ///
  /// (If the feed already has the record's offset, it is skipped instead.)
  mutating func spoil(_ record: inout OracleRecord) {
    let codes = OracleRejectCode.allCases.filter {
      (options.hasOrders || $0 != .orderedSection) && (options.hasConditions || $0 != .conditionFailed)
    }
    let code = random.pick(codes)
    record.value = Array(event().utf8)
    switch code {
    case .missingKey: record.key = random.chance(50) ? nil : []
    case .invalidUTF8: spoilUTF8(&record)
    case .invalidJSON: record.value = invalidJSON()
    case .limitExceeded: spoilLimits(&record)
    case .invalidField where random.chance(20):
      record.value = Array(random.pick(["null", "5", "true", " \"feed.clear\" "]).utf8)
    case .orderedSection: record.value = Array(surrounded(placementInOrder()).utf8)
    default: record.value = Array(surrounded([badEvent(code)]).utf8)
    }
  }

  /// An event alone, or some within an array of valid events that do not affect anchors and items.
  private mutating func surrounded(_ bad: [String]) -> String {
    // An array alone is not a wrong event, but a record's events.
    if random.chance(40), bad.count == 1, !bad[0].hasPrefix("[") { return bad[0] }
    var events = (0..<random.below(4)).map { _ in self.event(.sectionUpsert) }
    events = events.filter { !$0.contains("before") && !$0.contains("after") }
    events.insert(contentsOf: bad, at: random.below(events.count + 1))
    return speller.array(events)
  }

  private mutating func spoilUTF8(_ record: inout OracleRecord) {
    let bad: [UInt8] = random.pick([
      [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80], [0xF8, 0x88],
    ])
    if random.chance(30) {
      record.key = (record.key ?? []) + bad
    } else {
      let text = Array("{\"op\":\"item.delete\",\"item\":\"".utf8) + bad
      record.value = random.chance(20) ? bad : text + Array("\"}".utf8)
    }
  }

  private mutating func invalidJSON() -> [UInt8] {
    if random.chance(10) { return [0xEF, 0xBB, 0xBF] + Array("{\"op\":\"feed.clear\"}".utf8) }
    if random.chance(10) { return Array(repeating: UInt8(ascii: "["), count: 1 + random.below(20_000)) }
    let good = event()
    let texts = [
      "", " ", "{", "[", good + ",", good + good, "[\(good),]", "[\(good)", "{\"op\":\"feed.clear\",}",
      "{op:\"feed.clear\"}", "{'op':'feed.clear'}", "{\"op\" \"feed.clear\"}", "nul", "NaN", "+1", "01", "1.",
      ".5",
      "1e", "-", "\"a\nb\"", "\"\\x\"", "\"\\u12g4\"", "// no\n\(good)", "\u{a0}\(good)", "[1 2]", "]",
      "{\"a\":1]",
      "{\"op\":\"feed.clear\",\"x\":\"\\ud800\"}", "{\"op\":\"feed.clear\",\"\\udc00\":1}",
      "{\"op\":\"feed.clear\",\"x\":[\"\\ud83d\\u0041\"]}", "[\(good),{\"x\":\"\\ud83d\"}]", "\u{0}",
      good + "\u{0}",
    ]
    return Array(random.pick(texts).utf8)
  }

  private mutating func spoilLimits(_ record: inout OracleRecord) {
    let limits = options.limits
    let long = String(repeating: "x", count: limits.maxIdBytes + 1)
    let item = speller.string(itemID())
    switch random.below(8) {
    case 0: record.key = Array(long.utf8)
    case 1: record.value = Array(surrounded(["{\"op\":\"item.delete\",\"item\":\"\(long)\"}"]).utf8)
    case 2:
      record.value = Array("{\"op\":\"item.move\",\"item\":\(item),\"at\":{\"after\":\"\(long)\"}}".utf8)
    case 3:
      let kind = "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\"s\",\"kind\":\"\(long)\"}"
      record.value = Array(surrounded([kind]).utf8)
    case 4 where limits.maxDataBytes < 4096:
      let data = String(repeating: "1", count: limits.maxDataBytes + 1)
      record.value = Array("{\"op\":\"section.upsert\",\"section\":\"s\",\"data\":\(data)}".utf8)
    case 5 where limits.maxEvents < 4096:
      let events = Array(repeating: "{\"op\":\"feed.clear\"}", count: limits.maxEvents + 1)
      record.value = Array("[\(events.joined(separator: ","))]".utf8)
    case 6 where limits.maxRecordBytes < 4096:
      record.value = Array(repeating: UInt8(ascii: " "), count: limits.maxRecordBytes)
    default:
      let depth = limits.maxDepth + (random.chance(20) ? 20_000 : 0)
      let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      record.value = Array("{\"op\":\"feed.clear\",\"unknown\":\(nested)}".utf8)
    }
  }

  private mutating func badEvent(_ code: OracleRejectCode) -> String {
    let item = speller.string(itemID())
    let section = speller.string(sectionID())
    switch code {
    case .unknownOp:
      return
        "{\"op\":\(random.pick(["\"\"", "\"item.explode\"", "\"feed\"", "\"Feed.clear\"", "\"feed.clear \""]))}"
    case .missingField:
      return random.pick([
        "{}", "{\"Op\":\"feed.clear\"}", "{\"op\":\"item.upsert\"}",
        "{\"op\":\"item.patch\",\"item\":\(item)}",
        "{\"op\":\"section.move\",\"section\":\(section)}", "{\"op\":\"feed.replace\"}",
        "{\"op\":\"section.replace\",\"section\":\(section)}", "{\"op\":\"section.move\",\"at\":7}",
        "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[{\"kind\":\"x\"}]}",
        "{\"op\":\"feed.replace\",\"sections\":[{\"data\":1}]}",
        "{\"op\":\"item.reload\",\"section\":\(section)}",
      ])
    case .duplicateID:
      return random.pick([
        "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[\(item),{\"id\":\(item)}]}",
        "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[\"a\",\"\\u0061\"]}",
        "{\"op\":\"feed.replace\",\"sections\":[{\"id\":\(section)},{\"id\":\(section)}]}",
        "{\"op\":\"feed.replace\",\"sections\":[{\"id\":\"p\",\"items\":[\(item)]},{\"id\":\"q\",\"items\":[\(item)]}]}",
      ])
    case .unknownAnchor:
      let side = random.pick(["before", "after"])
      return random.pick([
        "{\"op\":\"section.upsert\",\"section\":\(section),\"at\":{\"\(side)\":\"nowhere\"}}",
        "{\"op\":\"section.upsert\",\"section\":\(section),\"at\":{\"\(side)\":\(section)}}",
        "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"at\":{\"\(side)\":\"nowhere\"}}",
        "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"at\":{\"\(side)\":\(item)}}",
        "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[],\"at\":{\"\(side)\":\(section)}}",
      ])
    case .conditionFailed: return conditional("{\"absent\":\"x\",\"item\":\"x\"}")
    case .invalidField where options.hasConditions && random.chance(40):
      return conditional(invalidCondition())
    case .invalidField where options.hasContents && random.chance(40):
      return invalidReferences(item, section)
    case .unknownSection:
      return "{\"op\":\"item.upsert\",\"item\":\"never\",\"data\":1}"
    case .invalidField where options.hasOrders && random.chance(40):
      return invalidOrder(section)
    default:
      return invalidField(item, section)
    }
  }

  private mutating func invalidField(_ item: String, _ section: String) -> String {
    let places = [
      "null", "7", "\"middle\"", "\"First\"", "[]", "{}", "{\"index\":-1}", "{\"index\":-0}",
      "{\"index\":1.0}",
      "{\"index\":1e2}", "{\"index\":\"0\"}", "{\"index\":null}", "{\"before\":\"\"}", "{\"after\":null}",
      "{\"before\":\"a\",\"after\":\"b\"}", "{\"near\":\"a\"}",
    ]
    let place = random.pick(places)
    let wrong = random.pick(["null", "\"\"", "5", "{}", "[]", "true"])
    let notList = random.pick(["null", "\"a\"", "5", "{}", "true"])
    return random.pick([
      random.pick(["5", "null", "\"feed.clear\"", "[]", "[{\"op\":\"feed.clear\"}]"]),
      "{\"op\":\(random.pick(["null", "5", "{}"]))}",
      "{\"op\":\"item.move\",\"item\":\(item),\"at\":\(place)}",
      "{\"op\":\"section.move\",\"section\":\(section),\"at\":\(place)}",
      "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"at\":\(place)}",
      "{\"op\":\"item.delete\",\"item\":\(wrong)}",
      "{\"op\":\"section.delete\",\"section\":\(wrong)}",
      "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(wrong)}",
      "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"kind\":null}",
      "{\"op\":\"section.replace\",\"section\":\(section),\"items\":\(notList)}",
      "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[\"\"]}",
      "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[{\"id\":\"z\",\"kind\":7}]}",
      "{\"op\":\"feed.replace\",\"sections\":\(notList)}",
      "{\"op\":\"feed.replace\",\"sections\":[\"a\"]}",
      "{\"op\":\"feed.replace\",\"sections\":[{\"id\":\"z\",\"items\":null}]}",
    ])
  }
}
