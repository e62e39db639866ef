import FeedConfiguration
import Service
import Testing

@Suite struct IngestOptionsTests {
  private func error(_ sources: String) -> String {
    do throws(ConfigurationError) {
      _ = try ConfigurationSources(assignments: ["ingest.sources=\(sources)"]).load()
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
      "--set: ingest.sources[0].fed (1) is not a known key; did you mean ingest.sources[0].feed?"
    ),
    (
      "[{\(valid), format: \"avro\"}]",
      "--set: ingest.sources[0].format is \"avro\"; allowed: one of \"json\", \"debezium\""
    ),
    ("[{topic: \"t\", feed: \"\"}]", "--set: ingest.sources[0].feed is \"\"; allowed: literals, and"),
    ("[{topic: \"t\", feed: \"{x}\"}]", "--set: ingest.sources[0].feed is \"{x}\"; allowed: literals, and"),
    ("[{topic: \"t\", feed: \"{/x\"}]", "--set: ingest.sources[0].feed is \"{/x\"; allowed: literals, and"),
    ("[{topic: \"t\", feed: \"x}\"}]", "--set: ingest.sources[0].feed is \"x}\"; allowed: literals, and"),
    (
      "[{topic: \"t\", feed: \"{/~2}\"}]",
      "--set: ingest.sources[0].feed is \"{/~2}\"; allowed: literals, and"
    ),
    ("[{topic: \"t\", feed: \"f\"}]", "--set: ingest.sources[0].section is missing; allowed: literals, and"),
    (
      "[{topic: \"t\", feed: \"{/f}\", section: \"s\", item: \"{key}\"}]",
      "--set: ingest.sources[0].feed is \"{/f}\"; allowed: with \"format\": \"json\", literals, {key} and {key/pointer} only, because"
    ),
    ("[{\(valid), data: \"x\"}]", "--set: ingest.sources[0].data is \"x\"; allowed: a JSON Pointer"),
    ("[{\(valid), data: []}]", "--set: ingest.sources[0].data is a list; allowed: a JSON Pointer"),
    ("[{\(valid), data: [\"/a\"]}]", "--set: ingest.sources[0].data is a list; allowed: a JSON Pointer"),
    (
      "[{\(valid), data: [\"a\", \"a\"]}]", "--set: ingest.sources[0].data is a list; allowed: a JSON Pointer"
    ),
    (
      "[{\(valid), data: [\"a\"], order: [{by: \"/a/b\"}, {by: \"/b\"}]}]",
      "--set: ingest.sources[0].order[1].by is \"/b\"; allowed: a JSON Pointer into a member that 'data' lists"
    ),
    (
      "[{\(valid), where: [1]}]",
      "--set: ingest.sources[0].where is a list; allowed: an object of JSON Pointers"
    ),
    (
      "[{\(valid), where: {x: [1]}}]",
      "--set: ingest.sources[0].where has \"x\": a list; allowed: an object of"
    ),
    (
      "[{\(valid), where: {\"/x\": [1.5]}}]",
      "--set: ingest.sources[0].where has \"/x\": a list; allowed: an object of"
    ),
    (
      "[{\(valid), decimals: {\"/a\": 2, \"/b\": -1}}]",
      "--set: ingest.sources[0].decimals has \"/b\": -1; allowed: an object of"
    ),
    (
      "[{\(valid), decimals: {\"\": 2}}]",
      "--set: ingest.sources[0].decimals has \"\": 2; allowed: an object of"
    ),
    (
      "[{\(valid), unavailableValue: \"x\"}]",
      "--set: ingest.sources[0].unavailableValue is \"x\"; allowed: a string of 8 to 255"
    ),
    (
      "[{\(valid), tests: [{given: 1}]}]",
      "--set: ingest.sources[0].tests[0].given (1) is not a known key"
    ),
    (
      "[{\(valid), tests: [{gives: {}}]}]",
      "--set: ingest.sources[0].tests[0].gives is an object; allowed: a list of objects"
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
      "--set: ingest.sources[0].order is a list; allowed: an order of a section; it must have a JSON Pointer"
    ),
    (
      "[{\(valid), order: [{bi: \"/x\"}]}]",
      "--set: ingest.sources[0].order[0].bi is not a known key; did you mean ingest.sources[0].order[0].by?"
    ),
    (
      "[{\(valid), order: []}]",
      "--set: ingest.sources[0].order is a list; allowed: an order of a section; it must have at least one key"
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
      "[{topic: \"feeds.items\", feed: \"f\", section: \"s\", item: \"{key}\"}]",
      "--set: ingest.sources[0].topic is \"feeds.items\": it is one of topics.*, which have no rows"
    ),
  ])
  func `a mistake is refused with its place and what is allowed`(_ sources: String, _ message: String) {
    let error = error(sources)
    #expect(error.hasPrefix(message), "\(error)")
  }

  @Test func `a source may have everything`() {
    let all = """
      [{\(Self.valid), format: "json", kind: "k", data: ["a", "n/m"], where: {"/x": ["a", 1, true, null]}, order: [{by: "/n~1m"}], keep: 9, decimals: {"/a": "text"}, tests: [{name: "t"}]}]
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
