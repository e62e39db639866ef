import FeedConfiguration
import Settings
import Testing

@Suite struct IngestOptionsTests {
  private func error(_ sources: String, contents: String = "contents") -> String {
    do throws(ConfigurationError) {
      let assignments = ["ingest.sources=\(sources)", "topics.contents=\(contents)"]
      _ = try ConfigurationSources(assignments: assignments).load()
      return "accepted"
    } catch {
      return error.description
    }
  }

  private static let valid = "topic: \"rows\", feed: \"f\", section: \"s\", item: \"{key}\""

  @Test(arguments: [
    ("1", "--set: ingest.sources is 1; allowed: a list of objects"),
    ("[1]", "--set: ingest.sources[0] is 1; allowed: an object"),
    ("[{}]", "--set: ingest.sources[0].topic is missing; allowed: 1 to 249 of"),
    ("[{topic: \"a b\"}]", "--set: ingest.sources[0].topic is \"a b\"; allowed: 1 to 249"),
    (
      "[{\(valid), fed: 1}]",
      "--set: ingest.sources[0].fed is not a known field; did you mean feed?"
    ),
    (
      "[{\(valid), format: \"xml\"}]",
      "--set: ingest.sources[0].format is \"xml\"; allowed: \"json\", \"debezium\", \"avro\" or \"debezium-avro\""
    ),
    (
      "[{\(valid), format: \"avro\"}]",
      "--set: ingest.sources[0].format is Avro; set ingest.schemaRegistry.url or ingest.schemaFiles"
    ),
    (
      "[{topic: \"t\", feed: \"\"}]",
      "--set: ingest.sources[0].feed is \"\"; allowed: text, where {/pointer} leads"
    ),
    (
      "[{topic: \"t\", feed: \"{x}\"}]",
      "--set: ingest.sources[0].feed is \"{x}\"; allowed: text, where {/pointer} leads"
    ),
    (
      "[{topic: \"t\", feed: \"{/x\"}]",
      "--set: ingest.sources[0].feed is \"{/x\"; allowed: text, where {/pointer} leads"
    ),
    (
      "[{topic: \"t\", feed: \"x}\"}]",
      "--set: ingest.sources[0].feed is \"x}\"; allowed: text, where {/pointer} leads"
    ),
    (
      "[{topic: \"t\", feed: \"{/~2}\"}]",
      "--set: ingest.sources[0].feed is \"{/~2}\"; allowed: text, where {/pointer} leads"
    ),
    (
      "[{topic: \"t\", feed: \"f\"}]",
      "--set: ingest.sources[0].section is missing; allowed: text, where {/pointer} leads"
    ),
    (
      "[{topic: \"t\", feed: \"{/f}\", section: \"s\", item: \"{key}\"}]",
      "--set: ingest.sources[0].feed is \"{/f}\"; allowed: with \"format\": \"json\" or \"avro\", literals, {key} and {key/pointer} only, because"
    ),
    ("[{\(valid), data: \"x\"}]", "--set: ingest.sources[0].data is \"x\"; allowed: a JSON Pointer"),
    ("[{\(valid), data: []}]", "--set: ingest.sources[0].data is []; allowed: a JSON Pointer"),
    ("[{\(valid), data: [\"/a\"]}]", "--set: ingest.sources[0].data is [\"/a\"]; allowed: a JSON Pointer"),
    (
      "[{\(valid), data: [\"a\", \"a\"]}]",
      "--set: ingest.sources[0].data is [\"a\",\"a\"]; allowed: a JSON Pointer"
    ),
    (
      "[{\(valid), data: [\"a\"], order: [{by: \"/a/b\"}, {by: \"/b\"}]}]",
      "--set: ingest.sources[0].order[1].by is \"/b\"; allowed: a JSON Pointer into a member that 'data' lists"
    ),
    (
      "[{\(valid), where: [1]}]",
      "--set: ingest.sources[0].where is [1]; allowed: an object of JSON Pointers"
    ),
    (
      "[{\(valid), where: {x: [1]}}]",
      "--set: ingest.sources[0].where is {\"x\":[1]}; allowed: an object of"
    ),
    (
      "[{\(valid), where: {\"/x\": [1.5]}}]",
      "--set: ingest.sources[0].where is {\"/x\":[1.5]}; allowed: an object of"
    ),
    (
      "[{\(valid), decimals: {\"/a\": 2, \"/b\": -1}}]",
      "--set: ingest.sources[0].decimals is {\"/b\":-1}; allowed: an object of"
    ),
    (
      "[{\(valid), decimals: {\"\": 2}}]",
      "--set: ingest.sources[0].decimals is {\"\":2}; allowed: an object of"
    ),
    (
      "[{\(valid), unavailableValue: \"x\"}]",
      "--set: ingest.sources[0].unavailableValue is \"x\"; allowed: a string of 8 to 255"
    ),
    (
      "[{\(valid), tests: [{given: 1}]}]",
      "--set: ingest.sources[0].tests[0].given is not a known field; did you mean gives?"
    ),
    (
      "[{\(valid), tests: [{gives: {}}]}]",
      "--set: ingest.sources[0].tests[0].gives is {}; allowed: a list of objects"
    ),
    (
      "[{topic: \"rows\", feed: \"f\", section: \"s\", item: \"\(String(repeating: "x", count: 256)){key}\"}]",
      "--set: ingest.sources[0].item has literals of 256 bytes, more than limits.maxIdBytes (255)"
    ),
    (
      "[{\(valid), keep: 5}, {topic: \"more\", feed: \"f\", section: \"s\", item: \"m{key}\", keep: 6}]",
      "--set: ingest.sources[1] writes to the feed and section of ingest.sources[0] with a different order or keep"
    ),
    (
      "[{\(valid), order: [{by: \"x\"}]}]",
      "--set: ingest.sources[0].order[0].by is \"x\"; allowed: a JSON Pointer into the item's data"
    ),
    (
      "[{\(valid), order: [{bi: \"/x\"}]}]",
      "--set: ingest.sources[0].order[0].bi is not a known field; did you mean by?"
    ),
    (
      "[{\(valid), order: []}]",
      "--set: ingest.sources[0].order is []; allowed: a list of 1 to 4 objects"
    ),
    (
      "[{\(valid), keep: 0}]",
      "--set: ingest.sources[0].keep is 0; allowed: a whole number from 1 to 2147483647"
    ),
    (
      "[{\(valid)}, {\(valid)}]",
      "--set: ingest.sources[1].topic is \"rows\": another element has it already; map it"
    ),
    (
      "[{topic: \"t\", content: \"{/id}\"}]",
      "--set: ingest.sources[0].content is \"{/id}\"; allowed: with \"format\": \"json\" or \"avro\", literals, {key}"
    ),
    (
      "[{topic: \"t\", content: \"\(String(repeating: "x", count: 256))\"}]",
      "--set: ingest.sources[0].content has literals of 256 bytes, more than limits.maxIdBytes (255)"
    ),
    (
      "[{\(valid), refs: {a: \"\(String(repeating: "x", count: 256))\"}}]",
      "--set: ingest.sources[0].refs.a has literals of 256 bytes, more than limits.maxIdBytes (255)"
    ),
    (
      "[{\(valid), refs: {a: \"1\", b: \"2\", c: \"3\", d: \"4\", e: \"5\"}}]",
      "--set: ingest.sources[0].refs is {\"a\":\"1\",\"b\":\"2\",\"c\":\"3\",\"d\":\"4\",\"e\":\"5\"}; allowed: an object of names"
    ),
    (
      "[{\(valid), refs: {\"\": \"x\"}}]",
      "--set: ingest.sources[0].refs is {\"\":\"x\"}; allowed: an object of names"
    ),
    (
      "[{\(valid), data: [\"a\", \"b\"], refs: {b: \"x\"}}]",
      "--set: ingest.sources[0].refs.b has the name of a member that 'data' lists; name the reference differently"
    ),
    (
      "[{topic: \"contents\", content: \"{key}\"}]",
      "--set: ingest.sources[0].topic is \"contents\": it is one of topics.*, which have no rows"
    ),
    (
      "[{topic: \"feeds.items\", feed: \"f\", section: \"s\", item: \"{key}\"}]",
      "--set: ingest.sources[0].topic is \"feeds.items\": it is one of topics.*, which have no rows"
    ),
  ])
  func `a mistake is refused with its place and what is allowed`(_ sources: String, _ message: String) {
    let error = error(sources)
    #expect(error.hasPrefix(message), "\(error)")
  }

  @Test(arguments: [
    "feed: \"f\"", "section: \"s\"", "item: \"i\"", "kind: \"k\"", "expires: \"{/e}\"",
    "order: [{by: \"/x\"}]", "keep: 5",
    "refs: {}",
  ])
  func `a source of contents has no fields of items`(_ field: String) {
    let name = field.prefix { $0 != ":" }
    let problem = "is a field of items, and rows become contents with 'content'; remove one of the two"
    let error = error("[{topic: \"t\", content: \"{key}\", \(field)}]")
    #expect(error == "--set: ingest.sources[0].\(name) \(problem)")
  }

  @Test(arguments: ["topic: \"t\", content: \"{key}\"", "\(valid), refs: {a: \"{key}\"}"])
  func `contents and references need the topic of contents`(_ source: String) {
    #expect(error("[{\(source)}]") == "accepted")
    let name = source.contains("refs") ? "refs" : "content"
    let problem = "is set, and topics.contents is not; set it to the name of the topic of contents"
    #expect(error("[{\(source)}]", contents: "") == "--set: ingest.sources[0].\(name) \(problem)")
  }

  @Test(arguments: [
    (IngestSource.table, nil, [:]), (IngestOrderKey.table, "order", ["by": "'/x'"]),
    (IngestTest.table, "tests", [:]),
  ])
  func `each field takes its example and its default, and refuses others`(
    _ table: String,
    _ list: String?,
    _ inner: [String: String]
  ) throws {
    let source = ["topic": "'t'", "format": "'debezium'", "feed": "'f'", "section": "'s'", "item": "'i'"]
    func object(_ members: [String: String]) -> String {
      "{" + members.map { "\($0): \($1)" }.joined(separator: ", ") + "}"
    }
    func load(_ field: String, _ value: String?) throws(ConfigurationError) -> IngestOptions {
      var (members, whole) = (list == nil ? source : inner, source)
      if field == "content" { members = ["topic": "'t'", "format": "'debezium'"] }
      members[field] = value
      if let list { whole[list] = "[\(object(members))]" } else { whole = members }
      let assignments = ["ingest.sources=[\(object(whole))]", "topics.contents=contents"]
      return try ConfigurationSources(assignments: assignments).load().configuration.ingest
    }
    for row in table.replacing("`", with: "").split(separator: "\n") {
      let cells = row.split(separator: "|").map { String($0.dropFirst().dropLast()) }
      let example = cells[1].ranges(of: ", as in ").last.map { cells[1][$0.upperBound...] }
      for field in cells[0].split(separator: ", ").map(String.init) {
        #expect(throws: Never.self) { try load(field, example.map(String.init) ?? cells[2]) }
        let isRequired = cells[2] == "required"
        if !isRequired && cells[2] != "none" { #expect(try load(field, cells[2]) == load(field, nil)) }
        for (value, found) in [("{x: 1.5}", "{\"x\":1.5}"), (nil, "missing")] where value != nil || isRequired
        {
          if ["key", "value"].contains(field) { continue }
          let error = #expect(throws: ConfigurationError.self) { try load(field, value) }
          let message = "\(field) is \(found); allowed: \(cells[1])"
          #expect(error?.message.hasSuffix(message) == true, "\(error?.message ?? "")")
        }
      }
    }
  }

  @Test(arguments: ["\"f\", keep: 5", "\"g\", keep: 6", "\"f\""])
  func `two sources may fill a section with the same settings, or one of them with settings`(_ other: String)
  {
    let more = "topic: \"more\", section: \"s\", item: \"m{key}\", feed: \(other)"
    #expect(error("[{\(Self.valid), keep: 5}, {\(more)}]") == "accepted")
  }

  @Test func `a source may have everything`() {
    let all = """
      [{\(Self.valid), format: "json", kind: "k", data: ["a", "n/m"], where: {"/x": ["a", 1, true, null]}, order: [{by: "/n~1m"}], keep: 9, refs: {r: "{/r}"}, decimals: {"/a": "text"}, tests: [{name: "t"}]}]
      """
    #expect(error(all) == "accepted")
  }

  @Test(arguments: ["ingest.group=feedstore", "kafka.group.id=feedstore-ingest"])
  func `its group is not the daemon's`(_ setting: String) {
    let sources = "ingest.sources=[{\(Self.valid)}]"
    let error = #expect(throws: ConfigurationError.self) {
      try ConfigurationSources(assignments: [setting, sources]).load()
    }
    #expect(error?.description.contains("and so is kafka.group.id; give feedstore ingest a group") == true)
    #expect(throws: Never.self) { try ConfigurationSources(assignments: [setting]).load() }
  }
}
