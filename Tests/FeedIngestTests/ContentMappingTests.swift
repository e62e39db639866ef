import Feed
import FeedIngest
import Testing

/// Rows that become contents, and items that refer to contents.
@Suite struct ContentMappingTests {
  private func event(_ operation: String, _ before: String?, _ after: String?) -> String {
    "{\"before\":\(before ?? "null"),\"after\":\(after ?? "null"),\"op\":\"\(operation)\"}"
  }

  private static let unavailable = "\"__debezium_unavailable_value\""
  private static let content = "format: \"debezium\", content: \"c-{/id}\", where: {\"/on\": [true, null]}"

  // MARK: Contents

  @Test func `a row becomes a content, and a deleted one a null`() throws {
    let map = try Mapping("content: \"c-{key/id}\", data: [\"name\"]")
    #expect(map(key: "{\"id\":7}", "{\"id\":7,\"name\":\"A\"}") == (["c-7 {\"name\":\"A\"}"], "upserted"))
    #expect(map(key: "{\"id\":7}", nil) == (["c-7 null"], "deleted"))
    #expect(map(key: "{\"id\":7}", "{\"id\":7,\"__deleted\":\"true\"}") == (["c-7 null"], "deleted"))
    let whole = try Mapping("content: \"{key}\"")
    #expect(whole(key: "a", "{ \"x\" : 1.0 }").records == ["a { \"x\" : 1.0 }"])
    #expect(try Mapping("content: \"{key}\", data: \"/d\"")(key: "a", "{\"d\":{}}").records == ["a {}"])
  }

  @Test func `a content whose id changes is deleted under the former one`() throws {
    let map = try Mapping(Self.content)
    let (one, two) = ("{\"id\":1,\"on\":true}", "{\"id\":2,\"on\":null}")
    #expect(map(key: nil, event("c", nil, one)).records == ["c-1 \(one)"])
    #expect(map(key: nil, event("u", one, two)) == (["c-1 null", "c-2 \(two)"], "upserted"))
    #expect(map(key: nil, event("u", one, one)).records == ["c-1 \(one)"])
    #expect(map(key: nil, event("d", one, nil)) == (["c-1 null"], "deleted"))
    #expect(map(key: nil, nil) == ([], "skipped"))
  }

  @Test func `a row that no longer passes deletes its content`() throws {
    let map = try Mapping(Self.content)
    let (on, off) = ("{\"id\":1,\"on\":true}", "{\"id\":1,\"on\":false}")
    #expect(map(key: nil, event("u", on, off)) == (["c-1 null"], "filtered"))
    #expect(map(key: nil, event("u", off, on)).records == ["c-1 \(on)"])
    #expect(map(key: nil, event("u", off, off)) == ([], "filtered"))
  }

  @Test func `a row that cannot be mapped any more deletes its content`() throws {
    var limits = Limits()
    limits.maxDataBytes = 80
    limits.maxDepth = 2
    let map = try Mapping("format: \"debezium\", content: \"c-{/id}\", data: \"/d\"", limits: limits)
    let old = "{\"id\":1,\"d\":{}}"
    #expect(map(key: nil, event("u", old, "{\"id\":1,\"d\":{\"a\":[]}}")).outcome == "upserted")
    for (data, problem) in [
      ("[1]", "unmappable: a content must be an object, and 'data' is the array [1]"),
      ("null", "unmappable: a content must be an object, and 'data' is null"),
      (
        "{\"a\":12345678}",
        "limit-exceeded: 'data' has 14 bytes, more than an eighth of limits.maxDataBytes (80)"
      ),
      ("{\"a\":[[]]}", "limit-exceeded: 'data' is nested 3 deep"),
    ] {
      let (records, outcome) = map(key: nil, event("u", old, "{\"id\":1,\"d\":\(data)}"))
      #expect(records == ["c-1 null"] && outcome.hasPrefix(problem), "\(outcome)")
    }
    let missing = map(key: nil, event("c", nil, "{\"d\":{}}"))
    #expect(missing.records.isEmpty && missing.outcome.hasPrefix("unmappable: 'content' is \"c-{/id}\""))
  }

  @Test func `a content stays if the event lacks a column of it`() throws {
    let map = try Mapping(Self.content)
    let row = "{\"id\":1,\"on\":true,\"text\":\(Self.unavailable)}"
    let (records, outcome) = map(key: nil, event("u", row, row))
    #expect(records.isEmpty && outcome.hasPrefix("unmappable: the change event does not have"), "\(outcome)")
    #expect(outcome.hasSuffix("the content stays as it was"))
    let whole = "{\"id\":1,\"on\":true,\"text\":\"long\"}"
    #expect(map(key: nil, event("u", whole, row)).records == ["c-1 \(whole)"])
    let others = try Mapping(Self.content + ", data: [\"id\"]")
    #expect(others(key: nil, event("u", row, row)).records == ["c-1 {\"id\":1}"])
  }

  @Test func `messages about events name contents`() throws {
    let map = try Mapping(Self.content)
    let update = map(key: nil, event("u", nil, "{\"id\":1}")).outcome
    #expect(update.contains("the mapping of 'content' needs it"), "\(update)")
    let truncation = map(key: nil, event("t", nil, nil)).outcome
    #expect(truncation.hasSuffix("delete the contents that the source makes (null records)"), "\(truncation)")
    let rekeyed = try Mapping("format: \"debezium\", content: \"{/name}\"")(
      key: "{\"id\":1}",
      event("d", "{\"id\":1,\"name\":\"a\"}", nil),
      isRekeyed: true
    )
    #expect(rekeyed.records.isEmpty && rekeyed.outcome.contains("'content' is without its column \"id\""))
  }

  // MARK: References

  private static let item = "feed: \"f\", section: \"s\", item: \"{key}\", "
  private static let two = item + "data: [\"x\"], refs: {b: \"b-{/b}\", a: \"{/a}/{/b}\"}"

  private static func upsert(_ references: String, _ data: String = "{\"x\":1}") -> String {
    "f {\"op\":\"item.upsert\",\"item\":\"i\",\"section\":\"s\",\"refs\":\(references),\"data\":\(data)}"
  }

  @Test(arguments: [
    ("\"a\":\"ü\\\"\",\"b\":2", #"{"a":"ü\"/2","b":"b-2"}"#), ("\"b\":true", #"{"b":"b-true"}"#),
    ("\"a\":null,\"b\":2.0", #"{"b":"b-2.0"}"#), ("\"a\":1", "{}"), ("\"a\":null,\"b\":null", "{}"),
  ])
  func `an upsert has all references of the row`(columns: String, references: String) throws {
    let (records, outcome) = try Mapping(Self.two)(key: "i", "{\"x\":1,\(columns)}")
    #expect(records == [Self.upsert(references)] && outcome == "upserted")
  }

  @Test func `without names, upserts remove references that an earlier mapping made`() throws {
    let map = try Mapping(Self.item + "refs: {}")
    #expect(map(key: "i", "{\"x\":1}").records == [Self.upsert("{}")])
  }

  @Test func `a place in the key may have no value, too`() throws {
    let map = try Mapping("feed: \"f\", section: \"s\", item: \"i\", refs: {a: \"{key/a}\", k: \"{key}\"}")
    #expect(map(key: "{\"a\":\"1\"}", "{}").records == [Self.upsert(#"{"a":"1","k":"{\"a\":\"1\"}"}"#, "{}")])
    #expect(map(key: "{}", "{}").records == [Self.upsert(#"{"k":"{}"}"#, "{}")])
    #expect(map(key: nil, "{}").outcome.hasPrefix("missing-key: "))
    #expect(map(key: "text", "{}").outcome.hasPrefix("unmappable: 'refs.a' is \"{key/a}\""))
  }

  @Test(arguments: [
    ("\"b\":{}", "unmappable: 'refs.b' is \"b-{/b}\", and {/b} is not a string"),
    ("\"a\":[],\"b\":1", "unmappable: 'refs.a' is \"{/a}/{/b}\", and {/a} is not a string"),
  ])
  func `a reference with another value is not mapped, and the item is deleted`(
    columns: String,
    problem: String
  ) throws {
    let (records, outcome) = try Mapping(Self.two)(key: "i", "{\"x\":1,\(columns)}")
    #expect(records == ["f {\"op\":\"item.delete\",\"item\":\"i\"}"])
    #expect(outcome.hasPrefix(problem), "\(outcome)")
  }

  /// The store would reject these rows, so that the item would stay as it was.
  @Test func `data that does not fit references is not mapped, and the item is deleted`() throws {
    var limits = Limits()
    limits.maxDataBytes = 40
    let deletion = ["f {\"op\":\"item.delete\",\"item\":\"i\"}"]
    let map = try Mapping(Self.item + "data: \"/d\", refs: {\"ö\": \"{/r}\"}", limits: limits)
    for (data, problem) in [
      (
        "[1]",
        "unmappable: the data of an item with references must be an object, and 'data' is the array [1]"
      ),
      ("{\"x\":1,\"\\u00f6\":2}", "unmappable: 'refs' and the data both have \"ö\"; name the reference"),
      (
        "{\"x\":\"1234567890123\"}",
        "limit-exceeded: 'data' has 21 bytes, more than half of limits.maxDataBytes"
      ),
    ] {
      let (records, outcome) = map(key: "i", "{\"r\":1,\"d\":\(data)}")
      #expect(records == deletion && outcome.hasPrefix(problem), "\(outcome)")
      // Without a reference, its data may be anything.
      #expect(map(key: "i", "{\"d\":\(data)}").records == [Self.upsert("{}", data)])
    }
    let names = (0..<4).map { "\(String(repeating: "n", count: 254))\($0): \"{/r}{/r}\"" }
    let long = try Mapping(Self.item + "refs: {\(names.joined(separator: ", "))}")
    let (records, outcome) = long(key: "i", "{\"r\":\"\(String(repeating: "\\u0001", count: 100))\"}")
    #expect(records == deletion && outcome == "limit-exceeded: 'refs' has 5845 bytes, more than 2048")
  }

  @Test func `an item keeps a value that the event does not have, and gets the references`() throws {
    let map = try Mapping(
      "format: \"debezium\", feed: \"f\", section: \"s\", item: \"{key}\", data: [\"x\", \"t\"], refs: {a: \"{/a}\"}"
    )
    let row = "{\"x\":1,\"t\":\(Self.unavailable),\"a\":2}"
    #expect(
      map(key: "i", event("u", row, row)).records == [
        #"f [{"op":"item.upsert","item":"i","section":"s","refs":{"a":"2"}},{"op":"item.patch","item":"i","data":{"x":1}}]"#
      ]
    )
    let lacks = map(key: "i", event("u", nil, "{\"x\":1,\"t\":\"t\",\"a\":\(Self.unavailable)}"))
    #expect(lacks.records.isEmpty && lacks.outcome.hasSuffix("the item stays as it was"), "\(lacks.outcome)")
  }
}
