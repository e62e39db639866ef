import FeedConfiguration
import FeedStore
import FeedTestSupport
import IngestTestSupport
import Oracle
import Testing

@testable import FeedTools

/// Random tables through a mapping and the store: every feed is what a query over the table gives.
@Suite struct RowReplayTests {
  @Test(
    arguments: [[.debezium], [.debeziumWithSchema], [.json], [.debezium, .contents], [.contents, .json]]
      as [[TableScript.Format]],
    RandomCases.seeds(1...8)
  )
  func `feeds are what a query gives`(_ formats: [TableScript.Format], _ seed: UInt64) async throws {
    var tables = TableScripts(formats.map { ("rows.\($0)", $0) }, seed: seed)
    let input = (0..<300).flatMap { number in tables.step(number % tables.count).map(Self.line) }.joined()
    let report = try await replay(input, tables.sources)
    #expect(report.sections == tables.query, "\(formats), seed \(seed)")
    #expect(report.rejected == tables.unmappable, "\(formats), seed \(seed)")
  }

  /// The primary key of a row changes from 1 to 2.
  @Test(arguments: [true, false]) func `a row whose primary key changes is there afterwards`(
    _ isDeletedFirst: Bool
  ) async throws {
    func row(_ id: Int) -> String { "{\"id\":\(id),\"uuid\":\"u\"}" }
    let first = "{\"key\":\"{\\\"id\\\":1}\",\"value\":{\"after\":\(row(1)),\"op\":\"c\"}}\n"
    var pair = [
      "{\"key\":\"{\\\"id\\\":1}\",\"headers\":[\"__debezium.newkey\",\"{}\"],\"value\":{\"before\":\(row(1)),\"op\":\"d\"}}\n",
      "{\"key\":\"{\\\"id\\\":2}\",\"headers\":[\"__debezium.oldkey\",\"{}\"],\"value\":{\"after\":\(row(2)),\"op\":\"c\"}}\n",
    ]
    if !isDeletedFirst { pair.reverse() }
    for (item, rejected) in [("{/uuid}", 1), ("{/id}", 0), ("{key}", 0)] {
      let source = "[{topic: \"a\", format: \"debezium\", feed: \"f\", section: \"s\", item: \"\(item)\"}]"
      let report = try await replay(first + pair.joined(), source)
      #expect(report.sections["f"]?["s"]?.count == 1, "\(item): \(report)")
      #expect("\(report.sections)".contains("\\\"id\\\":2"), "\(item): \(report)")
      #expect(report.rejected == rejected, "\(item)")
    }
  }

  @Test func `a line of another topic stops the replay`() async throws {
    let source = "[{topic: \"a\", feed: \"f\", section: \"s\", item: \"{key}\"}]"
    await #expect(throws: ReplayError.self) {
      _ = try await replay("{\"topic\":\"b\",\"value\":{}}\n", source)
    }
  }

  private static func line(_ topic: String, _ record: TableScript.Record) -> String {
    func quoted(_ text: String?) -> String { text.map(JSONLine.quoted) ?? "null" }
    return "{\"topic\":\(quoted(topic)),\"key\":\(quoted(record.key)),\"value\":\(record.value ?? "null")}\n"
  }

  private func replay(
    _ input: String,
    _ sources: String
  ) async throws -> (sections: [String: [String: [String]]], rejected: Int) {
    let folder = try TemporaryFolder()
    let assignments = ["ingest.sources=\(sources)", "topics.contents=contents"]
    let configuration = try ConfigurationSources(assignments: assignments).load().configuration
    var replay = Replay(
      [try folder.file("in", Array(input.utf8))],
      to: folder.path("out"),
      configuration.store
    )
    replay.ingest = configuration.ingest
    let report = try await replay.run()
    var contents = FeedContents()
    for line in try folder.read("out").split(separator: "\n") {
      let value = try #require(try OracleJSON.parse(Array(line.utf8)).last("value"))
      if value.content != .null { try contents.apply(value) }
    }
    return (contents.sections, report.rejectedRecords)
  }
}
