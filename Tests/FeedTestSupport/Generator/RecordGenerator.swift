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
  private var timestamp = 1_760_000_000_000

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
    func has(_ prefix: String) -> Bool { op.rawValue.hasPrefix(prefix) }
    if has("section.") { members.append(("section", speller.string(sectionID()))) }
    if has("item.") { members.append(("item", speller.string(itemID()))) }
    switch op {
    case .feedReplace: members.append(("sections", sections()))
    case .sectionUpsert: members += optional([("data", speller.data()), ("at", place(ofSection: true))])
    case .sectionReplace:
      var pool = shuffledItemIDs()
      members.append(("items", speller.array(items(from: &pool))))
      members += optional([("data", speller.data()), ("at", place(ofSection: true))])
    case .sectionMove: members.append(("at", place(ofSection: true)))
    case .itemUpsert:
      if random.chance(85) { members.append(("section", speller.string(sectionID()))) }
      let kind = speller.string(self.kind())
      members += optional([("kind", kind), ("data", speller.data()), ("at", place(ofSection: false))])
    case .itemPatch: members.append(("data", speller.data()))
    case .itemMove:
      members += optional([("section", speller.string(sectionID())), ("at", place(ofSection: false))])
    default: break
    }
    if random.chance(3) { members.append(("unknown", speller.data())) }
    if random.chance(3) { members.insert(("op", "7"), at: 0) }
    if random.chance(10) { members.swapAt(members.count - 1, random.below(members.count)) }
    // A duplicate "op" must precede the real one.
    if let last = members.last(where: { $0.name == "op" }), last.value == "7" {
      members.append(("op", speller.string(op.rawValue)))
    }
    return speller.object(members)
  }

  private mutating func optional(
    _ members: [(name: String, value: String)]
  ) -> [(name: String, value: String)] {
    members.filter { _ in random.chance(55) }
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
      let fields = optional([("kind", speller.string(kind())), ("data", speller.data())])
      return speller.object([("id", speller.string(id))] + fields)
    }
  }

  private mutating func sections() -> String {
    var pool = shuffledItemIDs()
    let count = random.below(options.sectionCount + 1)
    let ids = (0..<options.sectionCount).map { sectionID($0) }.shuffled(using: &speller.random)
    let sections = ids.prefix(count).map { id in
      let items = speller.array(items(from: &pool))
      let fields = optional([("data", speller.data()), ("items", items)])
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
