import Feed
import FeedIngest
import Testing

@Suite struct RowMapperTests {
  private static let keyed = "feed: \"f-{key/f}\", section: \"s\", item: \"{key/i}\""
  private static let changed = "format: \"debezium\", feed: \"f-{/f}\", section: \"s\", item: \"{/i}\""

  private static func upsert(
    _ item: String,
    _ data: String,
    section: String = "s",
    kind: String? = nil
  ) -> String {
    let kind = kind.map { ",\"kind\":\"\($0)\"" } ?? ""
    return "{\"op\":\"item.upsert\",\"item\":\"\(item)\",\"section\":\"\(section)\"\(kind),\"data\":\(data)}"
  }

  private static func delete(_ item: String) -> String { "{\"op\":\"item.delete\",\"item\":\"\(item)\"}" }

  // MARK: Rows

  @Test func `a row becomes an item with the row as its data, as it is spelled`() throws {
    let map = try Mapping(Self.keyed)
    let (records, outcome) = map(key: "{\"f\":7,\"i\":\"a\"}", "{ \"x\" : 1.0, \"y\":\"\\u00e9\" }")
    #expect(records == ["f-7 " + Self.upsert("a", "{ \"x\" : 1.0, \"y\":\"\\u00e9\" }")])
    #expect(outcome == "upserted")
  }

  @Test(arguments: [
    ("\"2026-11-20T10:00:00+01:00\"", "\"2026-11-20T10:00:00+01:00\""), ("1795168800000", "1795168800000"),
    ("null", "null"),
  ])
  func `an item ends when its row says so`(time: String, expires: String) throws {
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key}\", data: \"/d\", expires: \"{/ends}\"")
    let event =
      "f {\"op\":\"item.upsert\",\"item\":\"a\",\"section\":\"s\",\"expires\":\(expires),\"data\":1}"
    #expect(map(key: "\"a\"", "{\"d\":1,\"ends\":\(time)}").records == [event])
    #expect(map(key: "\"a\"", "{\"d\":1}").records == [event.replacing(expires, with: "null")])
  }

  @Test(arguments: ["\"soon\"", "true", "-5", "1.5", "[]", "253402300800000"])
  func `a row whose end is not a time is not mapped`(time: String) throws {
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key}\", expires: \"{/ends}\"")
    let (records, outcome) = map(key: "\"a\"", "{\"ends\":\(time)}")
    #expect(records == ["f " + Self.delete("a")])
    #expect(
      outcome.hasPrefix("unmappable: 'expires' is \"{/ends}\", which must be "),
      "\(outcome)"
    )
  }

  @Test func `a null deletes the item`() throws {
    #expect(try Mapping(Self.keyed)(key: "{\"f\":7,\"i\":\"a\"}", nil).records == ["f-7 " + Self.delete("a")])
  }

  @Test func `a row that no longer passes is deleted`() throws {
    let map = try Mapping(
      Self.keyed + ", where: {\"/on\": [true, 1, \"yes\"], \"/off\": [null, false, \"5\"]}"
    )
    let key = "{\"f\":7,\"i\":\"a\"}"
    for row in ["{\"on\":true}", "{\"on\":1,\"off\":null}", "{\"on\":\"y\\u0065s\",\"off\":false}"] {
      #expect(map(key: key, row).outcome == "upserted", "\(row)")
    }
    for row in [
      "{}", "{\"on\":1.0}", "{\"on\":\"1\"}", "{\"on\":true,\"off\":0}", "{\"on\":\"true\"}",
      "{\"on\":true,\"off\":151}",
    ] {
      let (records, outcome) = map(key: key, row)
      #expect(records == ["f-7 " + Self.delete("a")] && outcome == "filtered", "\(row)")
    }
  }

  @Test(arguments: [
    ("\"text\"", "text"), ("text", "text"), ("17", "17"), ("17.0", "17.0"), ("{\"a\": 1}", "{\\\"a\\\": 1}"),
    ("\"caf\\u00e9\"", "café"), ("\"half", "\\\"half"), (" \"x\" ", "x"),
  ])
  func `the whole key is text`(_ key: String, _ id: String) throws {
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key}\"")
    #expect(map(key: key, "{}").records == ["f " + Self.upsert(id, "{}")])
  }

  @Test(arguments: [
    ("{\"id\":17}", "17"), ("{\"id\":17.0}", "17.0"), ("{\"id\":\"17\"}", "17"), ("{\"id\":true}", "true"),
    ("{\"id\":1,\"id\":2}", "2"), ("{\"\\u0069d\":3}", "3"),
  ])
  func `ids are as they are spelled`(_ key: String, _ id: String) throws {
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key/id}\"")
    #expect(map(key: key, "{}").records == ["f " + Self.upsert(id, "{}")])
  }

  @Test(arguments: ["{\"id\":null}", "{}", "{\"id\":{}}", "{\"id\":[1]}", "{\"id\":\"\"}", "no JSON", "[]"])
  func `what is no id is unmappable`(_ key: String) throws {
    let (records, outcome) = try Mapping("feed: \"f\", section: \"s\", item: \"{key/id}\"")(key: key, "{}")
    #expect(
      records.isEmpty && outcome.hasPrefix("unmappable: 'item' is \"{key/id}\", ")
        && (outcome.contains("{key/id} is not a string") || outcome.contains("which is empty")),
      "\(outcome)"
    )
  }

  @Test func `a row whose section cannot be told is in no feed`() throws {
    let map = try Mapping("feed: \"f\", section: \"{/s}\", item: \"{key}\", kind: \"k{/k}\"")
    #expect(
      map(key: "a", "{\"s\":\"x\",\"k\":\"\"}").records == [
        "f " + Self.upsert("a", "{\"s\":\"x\",\"k\":\"\"}", section: "x", kind: "k")
      ]
    )
    let kind = try Mapping("feed: \"f\", section: \"s\", item: \"{key}\", kind: \"{/k}\", data: [\"k\"]")
    #expect(kind(key: "a", "{\"k\":\"\"}").records == ["f " + Self.upsert("a", "{\"k\":\"\"}", kind: "")])
    for row in ["{\"k\":1}", "{\"s\":null,\"k\":1}", "{\"s\":\"x\"}"] {
      let (records, outcome) = map(key: "a", row)
      #expect(records == ["f " + Self.delete("a")] && outcome.hasPrefix("unmappable: "), "\(row): \(outcome)")
    }
  }

  @Test func `pointers have members with slashes and tildes, and indices`() throws {
    let map = try Mapping("feed: \"f\", section: \"{/a~1b}-{/c~0d}-{/l/1}\", item: \"{key}\", data: \"/l\"")
    let (records, _) = map(key: "a", "{\"a/b\":1,\"c~d\":2,\"l\":[3, {\"x\":4}, 5],\"l\":[6,7]}")
    #expect(records == ["f " + Self.upsert("a", "[6,7]", section: "1-2-7")])
  }

  @Test func `data may be some of the members, in the order of the list`() throws {
    let map = try Mapping(
      "feed: \"f\", section: \"s\", item: \"{key}\", data: [\"b\", \"a/b\", \"none\", \"b\\\"\"]"
    )
    let (records, _) = map(key: "a", "{\"a/b\":[1, 2],\"b\":null,\"b\\\"\":0}")
    #expect(records == ["f " + Self.upsert("a", "{\"b\":null,\"a/b\":[1, 2],\"b\\\"\":0}")])
    #expect(map(key: "a", "{}").records == ["f " + Self.upsert("a", "{}")])
  }

  @Test func `braces are doubled`() throws {
    let map = try Mapping("feed: \"{{{key}}}\", section: \"s\", item: \"i\"")
    #expect(map(key: "a", "{}").records == ["{a} " + Self.upsert("i", "{}")])
  }

  @Test func `settings of a section precede its first item, once`() throws {
    let map = try Mapping(
      "feed: \"{key/f}\", section: \"{/s}\", item: \"{key/i}\", order: [{by: \"/n\", direction: \"descending\"}], keep: 3",
      sections: SentSections(capacity: 4)
    )
    func settings(_ section: String) -> String {
      """
      {"op":"section.upsert","section":"\(section)","order":[{"by":"/n","direction":"descending"}],"keep":3}
      """
    }
    func records(_ feed: String, _ section: String) -> [String] {
      map(key: "{\"f\":\"\(feed)\",\"i\":1}", "{\"s\":\"\(section)\"}").records
    }
    let event = Self.upsert("1", "{\"s\":\"a\"}", section: "a")
    #expect(records("f", "a") == ["f [\(settings("a")),\(event)]"])
    #expect(records("f", "a") == ["f \(event)"])
    #expect(records("g", "a") == ["g [\(settings("a")),\(event)]"])
    let ascending = try Mapping(
      "feed: \"f\", section: \"s\", item: \"{key}\", order: [{by: \"/n\"}, {by: \"\"}]"
    )
    let first = "{\"op\":\"section.upsert\",\"section\":\"s\",\"order\":[{\"by\":\"/n\"},{\"by\":\"\"}]}"
    #expect(ascending(key: "1", "{}").records == ["f [\(first),\(Self.upsert("1", "{}"))]"])
    // The oldest are forgotten.
    for section in ["b", "c", "d"] { _ = records("f", section) }
    #expect(records("f", "a") == ["f [\(settings("a")),\(event)]"])
  }

  @Test func `sections are forgotten once a minute, as others may have deleted them`() throws {
    let sections = SentSections()
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key}\", keep: 3", sections: sections)
    func hasSettings(at now: Int64) -> Bool {
      sections.forget(at: now)
      return map(key: "a", "{}").records[0].contains("section.upsert")
    }
    let times: [Int64] = [5, 6, 60_004, 60_005, 60_006, 130_000, 131_000]
    #expect(times.filter(hasSettings) == [5, 60_005, 130_000])
  }

  // MARK: Bad input

  @Test(arguments: [
    ("no JSON", "invalid-json"), ("", "invalid-json"), ("[]", "invalid-field"), ("null", "invalid-field"),
    ("{\"a\":\"\\ud800\"}", "invalid-json"),
  ])
  func `a value that is no row changes nothing`(_ value: String, _ code: String) throws {
    for source in [Self.keyed, Self.changed] {
      let (records, outcome) = try Mapping(source)(key: "{\"f\":1,\"i\":2}", value)
      #expect(records.isEmpty && outcome.hasPrefix(code + ": "), "\(outcome)")
    }
  }

  @Test func `bytes that are not UTF-8 are rejected`() throws {
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key}\"")
    #expect(map.map(key: [0xFF], Array("{}".utf8)).outcome == "invalid-utf8: the key is not UTF-8 at byte 0")
    #expect(map.map(key: [0x61], [0x22, 0xFF, 0x22]).outcome.hasPrefix("invalid-utf8: the value"))
  }

  @Test func `a record without a key is rejected if the mapping uses it`() throws {
    #expect(try Mapping(Self.keyed)(key: nil, "{}").outcome.hasPrefix("missing-key: "))
    #expect(try Mapping(Self.keyed)(key: "", nil).outcome.hasPrefix("missing-key: "))
    #expect(try Mapping("feed: \"f\", section: \"s\", item: \"i\"")(key: nil, "{}").outcome == "upserted")
  }

  @Test func `what is too long is rejected, and deleted if it was there`() throws {
    var limits = Limits()
    limits.maxDataBytes = 20
    limits.maxIdBytes = 5
    limits.maxRecordBytes = 100
    let map = try Mapping("feed: \"f\", section: \"{/s}\", item: \"{key}\"", limits: limits)
    for row in ["{\"s\":\"x\",\"long\":\"0123456789\"}", "{\"s\":\"123456\"}"] {
      let (records, outcome) = map(key: "a", row)
      #expect(records == ["f " + Self.delete("a")] && outcome.hasPrefix("limit-exceeded: "), "\(outcome)")
    }
    #expect(map(key: "123456", "{\"s\":\"x\"}").outcome.hasPrefix("limit-exceeded: 'item'"))
    #expect(map(key: "a", "{\"s\":\"\(String(repeating: "x", count: 100))\"}").records.isEmpty)
  }

  @Test func `what is nested too deep is rejected, and deleted if it was there`() throws {
    var limits = Limits()
    limits.maxDepth = 4
    let deep = "{\"a\":[{}],\"b\":[]}"
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key}\"", limits: limits)
    #expect(map(key: "a", "{\"a\":[]}").outcome == "upserted")
    let (records, outcome) = map(key: "a", deep)
    #expect(
      records == ["f " + Self.delete("a")] && outcome.hasPrefix("limit-exceeded: 'data' is nested 5 deep")
    )
    let members = "feed: \"f\", section: \"s\", item: \"{key}\", data: "
    #expect(try Mapping(members + "[\"b\"]", limits: limits)(key: "a", deep).outcome == "upserted")
    #expect(
      try Mapping(members + "[\"a\"]", limits: limits)(key: "a", deep).outcome.hasPrefix("limit-exceeded")
    )
  }

  @Test func `a row of ten megabytes and a thousand members is one like others`() throws {
    let members = (0..<1_000).map { "\"m\($0)\":\"\(String(repeating: "x", count: 10_000))\"" }
    let map = try Mapping("feed: \"f\", section: \"{/m999}\", item: \"{key}\", data: [\"m1000\"]")
    let row = "{\(members.joined(separator: ",")),\"m999\":\"s\",\"m1000\":1}"
    #expect(row.utf8.count > 10_000_000)
    #expect(map(key: "a", row).records == ["f " + Self.upsert("a", "{\"m1000\":1}")])
    #expect(
      try Mapping(Self.keyed)(key: "{\"f\":1,\"i\":2}", row).outcome.hasPrefix("limit-exceeded: 'data' has ")
    )
  }

  // MARK: Change events

  private func event(_ operation: String, _ before: String?, _ after: String?) -> String {
    "{\"before\":\(before ?? "null"),\"after\":\(after ?? "null"),\"op\":\"\(operation)\"}"
  }

  @Test func `a row that changes its feed is deleted there and created here`() throws {
    let (records, outcome) = try Mapping(Self.changed)(
      key: "{\"i\":1}",
      event("u", "{\"f\":1,\"i\":1}", "{\"f\":2,\"i\":1}")
    )
    #expect(records == ["f-1 " + Self.delete("1"), "f-2 " + Self.upsert("1", "{\"f\":2,\"i\":1}")])
    #expect(outcome == "upserted")
  }

  @Test func `a row that changes its item is deleted and created in one record`() throws {
    let (records, _) = try Mapping(Self.changed)(
      key: nil,
      event("u", "{\"f\":1,\"i\":1}", "{\"f\":1,\"i\":2}")
    )
    #expect(records == ["f-1 [" + Self.delete("1") + "," + Self.upsert("2", "{\"f\":1,\"i\":2}") + "]"])
  }

  @Test func `a row that leaves its feed is deleted there`() throws {
    let map = try Mapping(Self.changed + ", where: {\"/on\": [1]}")
    let (old, new) = ("{\"f\":1,\"i\":1,\"on\":1}", "{\"f\":2,\"i\":1,\"on\":0}")
    #expect(map(key: nil, event("u", old, new)).records == ["f-1 " + Self.delete("1")])
    #expect(map(key: nil, event("u", new, old)).records == ["f-1 " + Self.upsert("1", old)])
    #expect(map(key: nil, event("u", new, new)) == ([], "filtered"))
    #expect(map(key: nil, event("c", nil, new)) == ([], "filtered"))
    #expect(map(key: nil, event("d", old, nil)) == (["f-1 " + Self.delete("1")], "deleted"))
    // A snapshot has no former row.
    #expect(map(key: nil, event("r", nil, old)).records == ["f-1 " + Self.upsert("1", old)])
    #expect(map(key: nil, event("r", nil, new)) == ([], "filtered"))
    let (records, outcome) = map(key: nil, event("u", old, "{\"f\":null,\"i\":1,\"on\":1}"))
    #expect(records == ["f-1 " + Self.delete("1")] && outcome.hasPrefix("unmappable: 'feed'"))
  }

  @Test func `the deletion of a row that was nowhere changes nothing`() throws {
    let map = try Mapping(Self.changed + ", where: {\"/on\": [1]}")
    for before in [
      "{\"f\":1,\"i\":1,\"on\":0}", "{\"f\":null,\"i\":1,\"on\":1}", "{\"f\":null,\"i\":1,\"on\":0}",
    ] {
      #expect(map(key: nil, event("d", before, nil)) == ([], "filtered"), "\(before)")
    }
    // The key says where it was, whatever is known of the row.
    let keyed = try Mapping("format: \"debezium\", " + Self.keyed + ", where: {\"/on\": [1]}")
    #expect(
      keyed(key: "{\"f\":1,\"i\":1}", event("d", "{\"i\":1}", nil)).records == ["f-1 " + Self.delete("1")]
    )
  }

  @Test(arguments: ["{\"i\":1,\"on\":1}", "{\"f\":1,\"on\":1}", "{\"f\":1,\"i\":1}", "{}"])
  func `a former row that lacks a column is no former row`(_ before: String) throws {
    let map = try Mapping(Self.changed + ", where: {\"/on\": [1]}")
    for event in [event("u", before, "{\"f\":2,\"i\":1,\"on\":1}"), event("d", before, nil)] {
      let (records, outcome) = map(key: nil, event)
      #expect(
        records.isEmpty && outcome.hasPrefix("unmappable: the change event has no 'before', or not all of")
      )
    }
  }

  @Test func `a member of a column may be missing`() throws {
    let map = try Mapping(
      "format: \"debezium\", feed: \"f\", section: \"s\", item: \"{/id}\", where: {\"/a/b\": [null]}"
    )
    #expect(
      map(key: nil, event("u", "{\"id\":1,\"a\":{}}", "{\"id\":2,\"a\":null}")).records == [
        "f [" + Self.delete("1") + "," + Self.upsert("2", "{\"id\":2,\"a\":null}") + "]"
      ]
    )
  }

  @Test(arguments: ["u", "d"]) func `an event without the former row needs a mapping by the key`(
    _ operation: String
  ) throws {
    let event = event(operation, nil, "{\"f\":1,\"i\":1}")
    #expect(
      try Mapping(Self.changed)(key: "{\"f\":1,\"i\":1}", event).outcome.hasPrefix(
        "unmappable: the change event has no 'before'"
      )
    )
    let map = try Mapping("format: \"debezium\", " + Self.keyed)
    #expect(map(key: "{\"f\":1,\"i\":1}", event).records.count == 1)
    #expect(map(key: "{\"schema\":{},\"payload\":{\"f\":1,\"i\":1}}", event).records[0].hasPrefix("f-1 "))
  }

  @Test func `an event may have its schema`() throws {
    let event = "{\"schema\":{\"type\":\"struct\"},\"payload\":\(event("c", nil, "{\"f\":1,\"i\":1}"))}"
    #expect(
      try Mapping(Self.changed)(key: nil, event).records == ["f-1 " + Self.upsert("1", "{\"f\":1,\"i\":1}")]
    )
    #expect(try Mapping(Self.changed)(key: nil, "{\"schema\":null,\"payload\":null}").outcome == "skipped")
  }

  @Test(arguments: [
    "{\"ts_ms\":1}", "{\"status\":\"END\",\"id\":\"1\",\"event_count\":2}", "{\"op\":\"m\",\"message\":{}}",
    "{\"schema\":{},\"payload\":{\"ts_ms\":1}}",
  ])
  func `heartbeats, transactions and messages are skipped`(_ value: String) throws {
    #expect(try Mapping(Self.changed)(key: nil, value) == ([], "skipped"))
  }

  @Test(arguments: [
    ("{\"before\":null,\"after\":null,\"op\":\"t\"}", "unmappable: the table was truncated"),
    ("{\"op\":\"x\"}", "unknown-op: 'op' is \"x\""), ("{\"op\":1}", "unknown-op: 'op' is the number 1"),
    ("{\"id\":1}", "missing-field: the value is not a change event"),
    ("{\"id\":1,\"status\":\"open\"}", "missing-field: the value is not a change event"),
    ("{\"ts_ms\":1,\"id\":1}", "missing-field: the value is not a change event"),
    ("{\"id\":1,\"ts_ms\":1}", "missing-field: the value is not a change event"),
    ("{\"op\":\"c\",\"after\":1}", "missing-field: "),
  ])
  func `what is no change of a row is rejected`(_ value: String, _ message: String) throws {
    let (records, outcome) = try Mapping(Self.changed)(key: nil, value)
    #expect(records.isEmpty && outcome.hasPrefix(message), "\(outcome)")
  }

  // MARK: Values that an event does not have

  private static let unavailable = [
    "\"__debezium_unavailable_value\"", "\"\\u005f_debezium_unavailable_valu\\u0065\"",
    "[\"__debezium_unavailable_value\"]", "\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\"",
    "{\"x\":[1,{\"y\":\"__debezium_unavailable_value\"}]}",
    "\"5f5f646562657a69756d5f756e617661696c61626c655f76616c7565\"",
    "\"{\\\"__debezium_unavailable_value\\\":\\\"__debezium_unavailable_value\\\"}\"",
    "[" + "__debezium_unavailable_value".utf8.map(String.init).joined(separator: ",") + "]",
  ]
  private static let keyedEvents = "format: \"debezium\", feed: \"f\", item: \"{key/i}\", "

  @Test(arguments: unavailable)
  func `an item keeps a value that the event does not have`(_ value: String) throws {
    let after = "{\"i\":1,\"s\":\"x\",\"ön\":\(value),\"m\":{\"a\":null}}"
    let upsert = "{\"op\":\"item.upsert\",\"item\":\"1\",\"section\":\"s\"}"
    func patch(_ data: String) -> String { "{\"op\":\"item.patch\",\"item\":\"1\",\"data\":\(data)}" }
    let removal = patch("{\"m\":null}")
    let all = patch("{\"i\":1,\"s\":\"x\",\"m\":{\"a\":null}}")
    for (mapping, record) in [
      ("section: \"s\"", "[\(upsert),\(removal),\(all)]"),
      ("section: \"s\", data: [\"ön\", \"s\"]", "[\(upsert),\(patch("{\"s\":\"x\"}"))]"),
      ("section: \"s\", data: [\"ön\"]", upsert), ("section: \"s\", data: \"/ön\"", upsert),
      ("section: \"{/s}\", data: [\"s\"]", Self.upsert("1", "{\"s\":\"x\"}", section: "x")),
    ] {
      let map = try Mapping(Self.keyedEvents + mapping)
      let (records, outcome) = map(key: "{\"i\":1}", event("u", nil, after))
      #expect(records == ["f " + record] && outcome == "upserted", "\(mapping): \(outcome)")
      // The next event is mapped as always.
      #expect(
        map(key: "{\"i\":1}", event("u", nil, "{\"s\":\"s\",\"ön\":\"a\",\"m\":1}")).records[0].contains(
          "\"data\""
        )
      )
    }
  }

  @Test(arguments: unavailable)
  func `a value that decides about an item is taken from the row before`(_ value: String) throws {
    let (before, after) = ("{\"i\":1,\"ön\":\"a\"}", "{\"i\":1,\"ön\":\(value)}")
    for mapping in [
      "section: \"{/ön}\", data: [\"i\"]", "section: \"s\", data: [\"i\"], where: {\"/ön\": [\"a\"]}",
      "section: \"s\", order: [{by: \"/ön\"}]", "section: \"s\", kind: \"{/ön}\", data: [\"i\"]",
    ] {
      let map = try Mapping(Self.keyedEvents + mapping)
      let (records, outcome) = map(key: "{\"i\":1}", event("u", nil, after))
      #expect(records.isEmpty && outcome.hasPrefix("unmappable: "), "\(mapping): \(outcome)")
      #expect(
        outcome.contains("the column \"ön\"") && outcome.contains("REPLICA IDENTITY FULL"),
        "\(outcome)"
      )
      #expect(map(key: "{\"i\":1}", event("u", after, after)).outcome == outcome)
      let full = map(key: "{\"i\":1}", event("u", before, after))
      let plain = try Mapping(Self.keyedEvents + mapping)(key: "{\"i\":1}", event("u", before, before))
      #expect(full == plain && full.outcome == "upserted", "\(full)")
    }
  }

  @Test func `an item that is not there keeps nothing`() throws {
    let row = "{\"i\":1,\"f\":1,\"x\":\"__debezium_unavailable_value\"}"
    let map = try Mapping(Self.changed)
    for event in [
      event("c", nil, row), event("u", "{\"f\":2,\"i\":1}", row), event("u", "{\"f\":1,\"i\":2}", row),
    ] {
      let (records, outcome) = map(key: nil, event)
      #expect(records.isEmpty && outcome.contains("the column \"x\""), "\(outcome)")
    }
    #expect(map(key: nil, event("u", "{\"f\":1,\"i\":1}", row)).outcome == "upserted")
  }

  @Test func `a connector may have a placeholder of its own`() throws {
    let map = try Mapping(
      Self.keyedEvents + "section: \"s\", data: [\"a\", \"b\"], unavailableValue: \"not sent!\""
    )
    let after = "{\"a\":\"__debezium_unavailable_value\",\"b\":\"bm90IHNlbnQh\"}"
    let records = map(key: "{\"i\":1}", event("u", nil, after)).records
    #expect(records[0].hasSuffix("\"data\":{\"a\":\"__debezium_unavailable_value\"}}]"), "\(records)")
  }

  @Test(arguments: [
    "feed: \"{/a}\", section: \"s\", item: \"i\"", "feed: \"f\", section: \"s\", item: \"{/a}\"",
    "feed: \"f\", section: \"{/a}\", item: \"{/i}\"",
    "feed: \"f\", section: \"s\", item: \"{/i}\", kind: \"k{/a}\"",
  ])
  func `no id is made of a value that the event does not have`(_ mapping: String) throws {
    let map = try Mapping("format: \"debezium\", data: [\"i\"], " + mapping)
    for value in ["\"__debezium_unavailable_value\"", "\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\""] {
      let (records, outcome) = map(key: nil, event("c", nil, "{\"i\":1,\"a\":\(value)}"))
      #expect(records.isEmpty && outcome.contains("the column \"a\""), "\(outcome)")
    }
  }

  @Test func `a former row without a value that says where it was is rejected`() throws {
    let map = try Mapping(Self.changed + ", data: [\"x\"]")
    let before = "{\"f\":\"__debezium_unavailable_value\",\"i\":1}"
    for event in [event("u", before, "{\"f\":1,\"i\":1}"), event("d", before, nil)] {
      let (records, outcome) = map(key: nil, event)
      #expect(records.isEmpty && outcome.contains("the column \"f\""), "\(outcome)")
    }
  }

  @Test(arguments: [
    "\"a __debezium_unavailable_value\"", "\"__debezium_unavailable_value_\"",
    "\"__debezium_unavailable_valu\"",
    "\"__debezium_unavailable_valuf\"", "[95,95,100,101,98,101,122,105,117,109]",
  ])
  func `a text that has more or less is a value`(_ value: String) throws {
    let map = try Mapping(Self.keyedEvents + "section: \"s\"")
    #expect(map(key: "{\"i\":1}", event("u", nil, "{\"a\":\(value)}")).outcome == "upserted")
  }

  @Test func `rows without an envelope have no unavailable values either`() throws {
    let records = try Mapping(Self.keyed)(
      key: "{\"f\":7,\"i\":1}",
      "{\"a\":\"__debezium_unavailable_value\",\"b\":2}"
    ).records
    #expect(records[0].hasSuffix("\"data\":{\"b\":2}}]"), "\(records)")
  }

  // MARK: Primary keys that change

  /// The deletion of a row whose primary key changes, as Debezium marks it.
  @Test(arguments: [
    ("{\"i\":1}", "{/i}", true), ("{\"i\":1}", "{/u}", false), ("{\"i\":1}", "{key/i}", true),
    ("{\"i\":1,\"u\":2}", "{/u}", false), ("{\"i\":1,\"u\":2}", "{/u}-{/i}", true),
    ("{\"i\":1}", "{key}", true),
    ("1", "{/i}", false), ("1", "{key}", true), ("{\"schema\":{},\"payload\":{\"i\":1}}", "{/i}", true),
    ("{\"i\":1,\"u\":2}", "{key/u}", false),
  ])
  func `a row whose primary key changes is deleted only where no other key can be`(
    _ key: String,
    _ item: String,
    _ isDeleted: Bool
  ) throws {
    let map = try Mapping("format: \"debezium\", feed: \"f\", section: \"s\", item: \"\(item)\"")
    let deletion = event("d", "{\"i\":1,\"u\":2}", nil)
    let (records, outcome) = map(key: key, deletion, isRekeyed: true)
    #expect(records.count == (isDeleted ? 1 : 0), "\(outcome)")
    #expect(
      outcome.hasPrefix(isDeleted ? "deleted" : "unmappable: the row's primary key has changed"),
      "\(outcome)"
    )
    #expect(map(key: key, deletion).outcome == "deleted")
  }

  @Test func `the header concerns change events alone`() throws {
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"{key/u}\"")
    #expect(map(key: "{\"i\":1,\"u\":2}", nil, isRekeyed: true).outcome == "deleted")
  }

  @Test func `the null after it deletes as little`() throws {
    let map = try Mapping("format: \"debezium\", feed: \"f\", section: \"s\", item: \"{key/u}\"")
    #expect(map(key: "{\"i\":1,\"u\":2}", nil, isRekeyed: true).records.isEmpty)
    #expect(map(key: "{\"i\":1,\"u\":2}", nil).outcome == "deleted")
  }
}
