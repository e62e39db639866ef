import Feed
import FeedConfiguration
import FeedDaemon
import FeedStore
import FeedTestSupport
import Foundation
import Kafka
import ObservationSupport
import OperatingSystem
import Oracle
import Settings
import Synchronization
import Testing

@testable import FeedKafka
@testable import FeedTools

/// `feedstore rejects` on records that a daemon rejected.
struct RejectsTests {
  /// Two partitions, and a rejected topic with as many. One record in each is rejected, and one is applied.
  private let ground: Ground
  private let started = WallClock.milliseconds()

  init() async throws {
    var ground = try Ground(partitions: 2, rejected: 2)
    ground.configuration.store.coalescing.maxRecords = 1
    try ground.produce(
      [
        TopicRecord(partition: 0, timestamp: 1_795_168_800_000, "news", #"{"op":"item.upsert","item":"a"}"#),
        TopicRecord(partition: 1, timestamp: 1_795_168_801_000, "shop", "no JSON"),
        TopicRecord(
          partition: 1,
          timestamp: 1_795_168_802_000,
          "shop",
          #"{"op":"section.upsert","section":"s"}"#
        ),
      ],
      to: "feeds.items"
    )
    _ = try await ground.runDaemon(applying: 3)
    self.ground = ground
  }

  private static func list(
    _ ground: Ground,
    code: String? = nil,
    since: Int64? = nil,
    isOpen: Bool = true
  ) async throws -> (lines: [String], report: RejectedReport) {
    let text = Mutex("")
    let report = try await RejectedListing.run(
      ground.configuration,
      code: code,
      sinceMilliseconds: since,
      isJSON: true,
      log: Ground.quiet
    ) { more in
      text.withLock { $0 += more }
      return isOpen
    }
    return (text.withLock { $0 }.split(separator: "\n").map(String.init), report)
  }

  private static func publish(
    _ ground: Ground,
    _ positions: [String],
    value: String? = nil
  ) async throws -> RejectedPublicationReport {
    try await RejectedPublication(
      ground.configuration,
      positions: try positions.map { try #require(RejectedPosition($0)) },
      value: value.map { Array($0.utf8) },
      log: Ground.quiet
    ).run()
  }

  @Test func `rejected records are listed, also by code and by the time of the rejection`() async throws {
    let (lines, report) = try await Self.list(ground)
    #expect(report.records == 2 && lines.count == 2)
    #expect(lines[0].hasPrefix(#"{"partition":0,"offset":0,"time":""#))
    #expect(lines[0].contains(#","code":"unknown-section""#))
    #expect(lines[0].hasSuffix(#""timestamp":1795168800000}}"#), "the source's")
    #expect(
      lines[1].contains(#""code":"invalid-json""#) && lines[1].contains(#""key":"shop","valueBytes":7"#)
    )
    #expect(report.text.contains("invalid-json"))
    let invalid = try await Self.list(ground, code: "invalid-json")
    #expect(invalid.lines == [lines[1]])
    #expect(try await Self.list(ground, since: started).lines == lines)
    let later = WallClock.milliseconds() + 1
    #expect(try await Self.list(ground, since: later).lines == [])
  }

  @Test func `a listing ends when its output is closed`() async throws {
    #expect(try await Self.list(ground, isOpen: false).report.records == 1)
  }

  @Test func `a record is shown with its headers and the bytes of its value`() async throws {
    let position = try #require(RejectedPosition("1/0"))
    let record = try await RejectedExcerpt.read(position, ground.configuration, log: Ground.quiet)
    #expect(record.value == Array("no JSON".utf8) && record.printableValue == "no JSON\n")
    for text in ["feeds.rejected [1], offset 0", "feedstore.error.code", "invalid-json", "7 bytes"] {
      #expect(record.details.contains(text))
    }
  }

  @Test func `a row is sent to its source again`() async throws {
    var ground = ground
    let source = #"ingest.sources=[{topic: "feeds.items", feed: "f", section: "s", item: "{key}"}]"#
    let settings = ["topics.items=other", "topics.sections=other", source]
    let configuration = try ConfigurationSources(assignments: settings).load().configuration
    (ground.configuration.store, ground.configuration.ingest) = (configuration.store, configuration.ingest)
    let refused = try await Self.publish(ground, ["1/0"])
    #expect(refused.refusals.count == 1 && refused.refusals[0].contains("rejected again with invalid-json"))
    let report = try await Self.publish(ground, ["1/0"], value: "{}")
    #expect(report.sent == 1 && report.refusals.isEmpty)
  }

  @Test(arguments: [
    ("2/0", "the topic has the partitions 0 to 1"), ("1/99", "the partition has the offsets 0 to "),
  ])
  func `a missing record is reported with the existing offsets`(position: String, reason: String) async throws
  {
    let named = try #require(RejectedPosition(position))
    let error = await #expect(throws: DaemonError.self) {
      try await RejectedExcerpt.read(named, ground.configuration, log: Ground.quiet)
    }
    #expect(error?.code == .missingRecord)
    #expect(error?.message.hasPrefix("there is no record \(position) in feeds.rejected: \(reason)") == true)
    #expect(error?.message.contains("rejects list") == true)
  }

  @Test func `a repaired record is applied by the daemon`() async throws {
    let value = #"{"op":"item.upsert","item":"b","section":"s"}"#
    #expect(try await Self.publish(ground, ["1/0"], value: value).lines == ["published 1 record"])
    let input = try ground.contents(of: "feeds.items", partitions: 2)
    let record = try #require(input.last)
    #expect(record.partition == 1 && record.keyText == "shop" && record.valueText == value)
    // The embedded cluster keeps no transactional offsets: all input is read again, and applied records are skipped.
    let report = try await ground.runDaemon(applying: input.count)
    #expect(report.text.contains("unknown-section"), "what was not repaired")
    let changesets = try ground.contents(of: "feeds.changesets", partitions: 2).compactMap(\.valueText)
    #expect(
      changesets.contains { $0.contains(#""insert":[{"id":"b""#) || $0.contains(#""items":[{"id":"b""#) }
    )
  }

  @Test func `a record that can be applied now is sent unchanged`() async throws {
    #expect(try await Self.publish(ground, ["0/0"]).isComplete)
    let input = try ground.contents(of: "feeds.items", partitions: 2).filter { $0.partition == 0 }
    #expect(input.count == 2 && input[0].key == input[1].key && input[0].value == input[1].value)
    #expect(input[1].timestamp > input[0].timestamp || input[1].timestamp > 0, "it has the time of sending")
  }

  @Test func `a record that is too large for the brokers is refused`() async throws {
    var ground = ground
    let data = String(repeating: "x", count: 3_000)
    ground.configuration.kafka.append(ConfigurationPair(name: "message.max.bytes", value: "2000"))
    let report = try await Self.publish(
      ground,
      ["0/0"],
      value: #"{"op":"section.upsert","section":"s","data":"\#(data)"}"#
    )
    #expect(
      report.lines.first?.hasPrefix(
        "0/0 is not published: it has 3051 bytes, and kafka.message.max.bytes is 2000"
      ) == true,
      "\(report.lines)"
    )
    #expect(report.sent == 0 && !report.isComplete)
  }

  @Test func `nothing is sent if one of several records is refused`() async throws {
    let report = try await Self.publish(ground, ["0/0", "1/0"])
    #expect(report.sent == 0 && !report.isComplete)
    #expect(
      report.lines.first?.hasPrefix("1/0 is not published: it would be rejected again with invalid-json")
        == true
    )
    #expect(report.lines.last == "nothing was published")
    #expect(try ground.contents(of: "feeds.items", partitions: 2).count == 3)
  }

  @Test func `the command saves a record to a file, and publishes it from there`() async throws {
    let files = try TemporaryFolder()
    let folder = files.url
    let settings = ["--set", "kafka.bootstrap.servers=\(ground.cluster.bootstrapServers)"]
    let list = try CommandRun(["rejects", "list", "--since", "2026-11-20"] + settings, in: folder)
    #expect(list.exitCode == 0 && list.output.split(separator: "\n").count == 2, "\(list.error)")
    let show = try CommandRun(["rejects", "show", "1/0"] + settings, in: folder)
    #expect(show.exitCode == 0 && show.output == "no JSON" && show.error.contains("invalid-json"))
    let refused = try CommandRun(["rejects", "publish", "1/0"] + settings, in: folder)
    #expect(refused.exitCode == 1 && refused.error.contains("nothing was published"))
    _ = try files.file("repaired", "[]".utf8)
    let publish = try CommandRun(["rejects", "publish", "1/0", "--value", "repaired"] + settings, in: folder)
    #expect(publish.exitCode == 0 && publish.error.contains("published 1 record"), "\(publish.error)")
    #expect(try ground.contents(of: "feeds.items", partitions: 2).last?.valueText == "[]")
  }
}

/// `feedstore rejects` without brokers.
struct RejectsArgumentsTests {
  @Test func `the command names invalid arguments and the remedy`() throws {
    let folder = FileManager.default.temporaryDirectory
    let arguments = [
      (["list", "--code", "nothing"], "--code is 'nothing'; allowed: missing-key, "),
      (
        ["list", "--since", "yesterday"],
        "--since is 'yesterday'; allowed: a time such as 2026-11-20T10:00:00Z"
      ),
      (["show", "3"], "'3' is not PARTITION/OFFSET, as in 3/1042"),
      (["publish", "3/4", "3/4"], "3/4 is named twice"),
      (["publish", "3/4", "3/5", "--value", "x"], "--value is for one record, but 2 are named"),
      (["list"], "kafka.bootstrap.servers is not set"),
      (["publis"], "unknown subcommand 'rejects publis'; did you mean 'publish'?"),
    ]
    for (words, message) in arguments {
      let run = try CommandRun(["rejects"] + words, in: folder)
      #expect(run.exitCode == 2 && run.output.isEmpty)
      #expect(run.error.contains(message), "\(words): \(run.error)")
    }
  }
}
