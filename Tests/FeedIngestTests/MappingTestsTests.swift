import FeedConfiguration
import FeedIngest
import Testing

@Suite struct MappingTestsTests {
  private func run(_ tests: String) throws -> (failures: [String], count: Int) {
    let source = "topic: \"rows\", feed: \"f\", section: \"s\", item: \"{key/i}\", keep: 5, tests: [\(tests)]"
    return MappingTests.run(
      try ConfigurationSources(assignments: ["ingest.sources=[{\(source)}]"]).load().configuration
    )
  }

  private static let gives = """
    gives: [{feed: "f", value: [{op: "section.upsert", section: "s", keep: 5}, \
    {op: "item.upsert", item: "1", section: "s", data: {x: 1.50}}]}]
    """

  @Test(arguments: [
    "{key: {i: 1}, value: {x: 1.5}, \(gives)}",
    "{key: '{\"i\":1}', value: '{\"x\":1.5}', outcome: \"upserted\", \(gives)}",
    "{key: {i: 1}, gives: [{feed: \"f\", value: {op: \"item.delete\", item: \"1\"}}]}",
    "{key: {}, value: {x: 1}, outcome: \"unmappable\"}",
    "{key: {i: 1}, value: \"no JSON\", outcome: \"invalid-json\"}",
  ])
  func `a test passes`(_ test: String) throws {
    let (failures, count) = try run("\(test), \(test)")
    #expect(failures.isEmpty && count == 2, "\(failures)")
  }

  @Test func `a test of contents passes`() throws {
    let tests = """
      {key: {i: 1}, value: {x: 1.5}, gives: [{content: "c-1", value: {x: 1.50}}]}, \
      {key: {i: 1}, outcome: "deleted", gives: [{content: "c-1", value: null}]}, {key: {i: 1}, gives: [{content: "c-2", value: null}]}
      """
    let source = "topic: \"rows\", content: \"c-{key/i}\", tests: [\(tests)]"
    let assignments = ["ingest.sources=[{\(source)}]", "topics.contents=contents"]
    let (failures, _) = MappingTests.run(
      try ConfigurationSources(assignments: assignments).load().configuration
    )
    let problem = "expected other records than [{\"content\":\"c-1\",\"value\":null}] (deleted)"
    #expect(failures == ["ingest.sources[0].tests[2]: \(problem)"])
  }

  @Test(arguments: [
    (
      "{name: \"two\", key: {i: 2}, value: {x: 1.5}, \(gives)}",
      "ingest.sources[0].tests[0] (two): expected other records than [{\"feed\":\"f\""
    ),
    ("{key: {i: 1}, value: {x: 1.5}}", "ingest.sources[0].tests[0]: expected other records than [{"),
    (
      "{key: {i: 1}, value: {x: 1}, outcome: \"filtered\"}",
      "ingest.sources[0].tests[0]: expected filtered, found upserted"
    ),
    (
      "{value: {x: 1}, outcome: \"upserted\"}",
      "ingest.sources[0].tests[0]: expected upserted, found missing-key: the record has no key"
    ),
  ])
  func `a test that fails says what it found`(_ test: String, _ message: String) throws {
    let failures = try run(test).failures
    #expect(failures.count == 1 && failures[0].hasPrefix(message), "\(failures)")
  }
}
