import Feed

/// Contents, and the references of items to them.
extension RecordGenerator {
  public static let contentsTopic = "feeds.contents"
  private static let contentIDs = ["u1", "u2", "p\"1", "\u{e9}", "never", "p2"]
  private static let referenceNames = ["author", "post", "author", "post", "r\"1", "\u{e9}", "score", "b"]

  /// A record of the contents topic.
  mutating func content(offset: Int, timestamp: Int) -> OracleRecord {
    let id = random.pick(Self.contentIDs.filter { $0 != "never" })
    var record = OracleRecord(
      topic: Self.contentsTopic,
      partition: random.below(2),
      offset: offset,
      timestamp: timestamp,
      key: Array(id.utf8),
      value: Array((speller.space() + contentValue() + speller.space()).utf8)
    )
    switch random.below(40) {
    case 0...4: record.value = nil
    case 5: record.value = Array(random.pick(["null", "5", "[]", "\"x\"", "", "{", "{}{}", "[{}]"]).utf8)
    case 6: record.key = random.pick([nil, [], [0xFF], Array(repeating: 0x78, count: 256)])
    case 7:
      record.value = Array(
        "{\"x\":\"\(String(repeating: "x", count: options.limits.maxDataBytes / 8))\"}".utf8
      )
    default: break
    }
    return record
  }

  private mutating func contentValue() -> String {
    if options.hasOrders { return random.chance(85) ? orderedObject() : "{}" }
    return random.pick([
      "{}", "{\"n\":1}", "{\"n\":2}", "{\"n\": [1, 2]}", "{\"a\":{\"b\":null}}", "{\"é\":\"\\u00e9\"}",
    ])
  }

  private mutating func orderedObject() -> String {
    "{\"score\":\(random.below(6)),\"name\":\"\(random.pick(["x", "y", "z"]))\"}"
  }

  /// The references of an item: in a patch some are `null`.
  mutating func references(isPatch: Bool) -> String {
    let count = random.pick([0, 1, 1, 1, 2, 2, 3, 4, 5])
    let members = (0..<count).map { _ in
      let id = isPatch && random.chance(40) ? "null" : speller.string(random.pick(Self.contentIDs))
      return (name: random.pick(Self.referenceNames), value: id)
    }
    return speller.object(members)
  }

  /// An item's own data, mostly an object.
  mutating func ownData() -> String {
    if random.chance(15) { return options.hasOrders ? orderedData() : speller.data() }
    let members = (0..<random.below(3)).map { _ in
      (name: random.pick(["a", "b", "c", "é", "score"]), value: String(random.below(4)))
    }
    return speller.object(members)
  }

  mutating func invalidReferences(_ item: String, _ section: String) -> String {
    let long = String(repeating: "x", count: 256)
    let five = (0..<5).map { "\"r\($0)\":\"u\"" }.joined(separator: ",")
    let wide = (0..<4).map {
      "\"r\($0)\(String(repeating: "\\u0001", count: 60))\":\"\(String(repeating: "x", count: 250))\""
    }
    let refs = random.pick([
      "null", "5", "[]", "\"u1\"", "true", "{\"a\":5}", "{\"a\":\"\"}", "{\"a\":{}}", "{\"\":\"u1\"}",
      "{\"a\":\"\(long)\"}", "{\"\(long)\":\"u1\"}", "{\(five)}", "{\(wide.joined(separator: ","))}",
    ])
    return random.pick([
      "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"data\":{},\"refs\":\(refs)}",
      "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[{\"id\":\(item),\"data\":{},\"refs\":\(refs)}]}",
      "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"data\":{},\"refs\":{\"a\":null}}",
      "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"data\":7,\"refs\":{\"a\":\"u1\"}}",
      "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section),\"data\":{\"\\u0061\":1},\"refs\":{\"a\":\"u1\"}}",
    ])
  }
}
