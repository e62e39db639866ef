import Feed

extension RecordGenerator {
  /// Turns a record into one that is rejected, with a randomly chosen code.
  ///
  /// (If the feed already has the record's offset, it is skipped instead.)
  mutating func spoil(_ record: inout OracleRecord) {
    let code = random.pick(OracleRejectCode.allCases)
    record.value = Array(event().utf8)
    switch code {
    case .missingKey: record.key = random.chance(50) ? nil : []
    case .invalidUTF8: spoilUTF8(&record)
    case .invalidJSON: record.value = invalidJSON()
    case .limitExceeded: spoilLimits(&record)
    case .invalidField where random.chance(20):
      record.value = Array(random.pick(["null", "5", "true", " \"feed.clear\" "]).utf8)
    default: record.value = Array(surrounded(badEvent(code)).utf8)
    }
  }

  /// The event alone, or within an array of valid events that do not affect anchors and items.
  private mutating func surrounded(_ event: String) -> String {
    if random.chance(40) { return event }
    var events = (0..<random.below(4)).map { _ in self.event(.sectionUpsert) }
    events = events.filter { !$0.contains("before") && !$0.contains("after") }
    events.insert(event, at: random.below(events.count + 1))
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
    case 1: record.value = Array(surrounded("{\"op\":\"item.delete\",\"item\":\"\(long)\"}").utf8)
    case 2:
      record.value = Array("{\"op\":\"item.move\",\"item\":\(item),\"at\":{\"after\":\"\(long)\"}}".utf8)
    case 3:
      let kind = "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\"s\",\"kind\":\"\(long)\"}"
      record.value = Array(surrounded(kind).utf8)
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
    case .unknownSection:
      return "{\"op\":\"item.upsert\",\"item\":\"never\",\"data\":1}"
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
