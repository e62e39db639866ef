import Feed
import FeedConfiguration
import FeedIngest
import FeedKafka
import FeedStore
import Foundation
import IngestTestSupport
import Kafka
import ObservationSupport
import Oracle
import ProcessSupport
import Service
import Testing

extension OnCluster {
  /// `feedstore ingest` in processes of its own.
  @Suite(.serialized) struct IngestTests {
    @Test func `processes that are killed or hang, and rebalances, lose and repeat nothing`() async throws {
      try await IngestRun.on("ingest") { run in
        var members = [try run.start(), try run.start()]
        for round in 0..<TestCluster.kills {
          try await run.send(60)
          if round.isMultiple(of: 2) { try await run.waitForCommits() }
          try await run.send(60)
          let victim = members.remove(at: run.below(members.count))
          if round == 1 {
            // Longer than its session: it comes back as a zombie.
            victim.suspend()
            try await run.waitForCommits()
            victim.resume()
            members.append(victim)
          } else {
            victim.kill()
            members.append(try run.start())
          }
        }
        let third = try run.start()
        try await run.send(60)
        try await run.waitForCommits()
        third.askToStop()
        try await run.send(60)
      }
    }

    @Test func `topics that are created later are read then`() async throws {
      try await IngestRun.on("ingest-later", createsRows: false) { run in
        let member = try run.start()
        try await run.wait(for: .ingestTopicMissing, of: member)
        try await run.createRows()
        try await run.send(20)
      }
    }

    @Test(arguments: ["after-produce:7", "after-offsets:2", "in-commit:2"])
    func `a process that ends in the middle of a transaction loses and repeats nothing`(
      _ crash: String
    ) async throws {
      try await IngestRun.on("crash") { run in
        let doomed = try run.start(crash: crash)
        while doomed.end == nil {
          try await run.send(20)
          try await run.waitForCommits(unless: doomed)
        }
        _ = try run.start()
        try await run.send(20)
      }
    }
  }
}

extension OnCluster.BrokerRestartTests {
  @Test(
    .enabled(if: TestCluster.restartCommand != nil, "FEEDSTORE_TEST_RESTART names no command that restarts")
  )
  func `rows are mapped once although brokers restart`() async throws {
    try await IngestRun.on("ingest-brokers") { run in
      _ = [try run.start(), try run.start()]
      for _ in 0..<2 {
        try await run.send(60)
        try await run.restartBrokers()
        try await run.send(60)
        try await run.waitForCommits()
      }
    }
  }
}

/// Two tables that change at random, as change events and as rows, and processes that map them.
private final class IngestRun {
  private let seed = TestCluster.seed
  private var random: SplitMix64
  /// Where the rows are, and where they go: there are fewer partitions there.
  private let rows = TestTopics("rows", partitions: 5)
  private let feeds = TestTopics("feeds", partitions: 2)
  private var scripts: [(topic: String, script: TableScript)]
  private var members: [Member] = []
  private let directory: URL

  private init() throws {
    random = SplitMix64(seed: seed)
    scripts = [
      (rows.names.items, TableScript(.debeziumWithSchema, seed: seed)),
      (rows.names.sections, TableScript(.json, seed: seed &+ 1)),
    ]
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(rows.prefix)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  static func on(
    _ label: String,
    createsRows: Bool = true,
    _ body: (IngestRun) async throws -> Void
  ) async throws {
    let run = try IngestRun()
    print("\(label): FEEDSTORE_TEST_SEED=\(run.seed)")
    do {
      if createsRows { try await run.createRows() }
      try await run.feeds.create()
      try await body(run)
      try await run.finish()
    } catch {
      for member in run.members { member.kill() }
      throw BrokerFailure("\(error)\n\(label), seed \(run.seed); the logs: \(run.directory.path)/*.log")
    }
    for member in run.members { member.kill() }
    try run.rows.delete()
    try run.feeds.delete()
    try FileManager.default.removeItem(at: run.directory)
  }

  func below(_ count: Int) -> Int { random.below(count) }

  func createRows() async throws { try await rows.create() }

  /// Waits until a member has logged an event.
  func wait(for event: LogEvent, of member: Member) async throws {
    try await onThread { [rows] in
      let admin = try AdminClient(configuration: rows.client, log: { _, _, _ in })
      let deadline = ContinuousClock.now + .seconds(600)
      while member.firstLine(about: [event]) == nil {
        let isGoingOn = member.end == nil && ContinuousClock.now < deadline
        try BrokerFailure.check(isGoingOn, "\(member.name) has not logged \(event.name): \(member.endText)")
        try admin.pause(milliseconds: 10)
      }
      try admin.close(timeoutMilliseconds: 10_000)
    }
  }

  private var sources: String {
    "[" + scripts.map { $0.script.source(topic: $0.topic) }.joined(separator: ",") + "]"
  }

  func start(crash: String? = nil) throws -> Member {
    let own = ["ingest.sources": sources, "ingest.group": rows.prefix]
    let name = "ingest-\(members.count)"
    let member = try Member(
      name,
      feeds.settings.merging(own) { $1 },
      command: "ingest",
      logPath: directory.appendingPathComponent("\(name).log").path,
      crash: crash
    )
    members.append(member)
    return member
  }

  /// Sends so many changes of each table.
  func send(_ count: Int) async throws {
    var records: [(topic: String, record: TableScript.Record)] = []
    for index in scripts.indices {
      for _ in 0..<count { records += scripts[index].script.step().map { (scripts[index].topic, $0) } }
    }
    try await onThread { [rows, records] in
      let producer = try Producer(configuration: rows.client, log: { _, _, _ in })
      for (topic, record) in records {
        let key = OwnedBytes(record.key.map { Array($0.utf8) })
        let value = OwnedBytes(record.value.map { Array($0.utf8) })
        let partition = Int32(record.row) % rows.partitions
        try producer.produce(topic: topic, partition: partition, key: key.bytes, value: value.bytes)
      }
      try producer.flush(timeoutMilliseconds: 120_000)
      try producer.close(timeoutMilliseconds: 120_000)
    }
  }

  func restartBrokers() async throws {
    let status = try await onThread {
      try ChildProcess("/bin/sh", ["-c", TestCluster.restartCommand ?? "false"]).waitForEnd().status
    }
    try BrokerFailure.check(status == 0, "the brokers were not restarted: \(status)")
  }

  /// Waits until everything that was sent is committed.
  ///
  /// - Parameter doomed: a member whose end is waited for as well.
  func waitForCommits(unless doomed: Member? = nil) async throws {
    struct HasEnded: Error {}
    let members = members
    do {
      try await onThread { [rows] in
        let ends = try TopicReader.contents(rows, [rows.names.items, rows.names.sections]).ends
        try rows.waitForCommits(ends) {
          if doomed?.end != nil { throw HasEnded() }
          for member in members where member.hasFailed {
            throw BrokerFailure("\(member.name): \(member.endText)")
          }
        }
      }
    } catch is HasEnded {}
  }

  private func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    let thread = WorkerThread(name: "run")
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in try body() }
  }

  // MARK: The result

  /// Everything that was sent is written once, and the feeds are what queries give.
  private func finish() async throws {
    try await waitForCommits()
    let names = [rows.names.items, rows.names.sections]
    let sent = try await onThread { [rows] in try TopicReader.contents(rows, names).records }
    let written = try await onThread { [feeds] in
      try TopicReader.contents(feeds, [feeds.names.items, feeds.names.rejected]).records
    }
    let (expected, rejected) = try mapped(sent)
    let items = written.filter { $0.topic == feeds.names.items }
    let actual = items.map { "\(text($0.key)) \(Self.events($0).joined(separator: ","))" }
    try Self.compare(actual, expected)
    let copies = written.filter { $0.topic == feeds.names.rejected }.map { record in
      ["topic", "partition", "offset"].map { record.headers["feedstore.source.\($0)"] ?? "" }.joined(
        separator: "/"
      )
    }
    try Self.compare(copies, rejected)
    var state: [String: [String: (place: String, data: String)]] = [:]
    for record in items {
      for event in Self.events(record) {
        let json = try OracleJSON.parse(Array(event.utf8))
        let item = text(json.last("item")?.string)
        let former = state[text(record.key)]?[item]
        state[text(record.key), default: [:]][item] =
          switch text(json.last("op")?.string) {
          case "item.delete": nil
          case "item.patch": try former.map { ($0.place, try Self.merged(json, into: $0.data)) }
          default:
            (
              "\(text(json.last("section")?.string)): \(item) \(text(json.last("kind")?.string))",
              json.last("data").map { text($0.minified) } ?? former?.data ?? "null"
            )
          }
      }
    }
    let result = state.mapValues { $0.values.map { "\($0) \($1)" }.sorted() }.filter { !$0.value.isEmpty }
    let query = scripts.reduce(into: [:]) { $0.merge($1.script.query) { $1 } }.mapValues { sections in
      sections.flatMap { section, items in items.map { "\(section): \($0)" } }.sorted()
    }
    try BrokerFailure.check(result == query, "the feeds are \(result), and a query gives \(query)")
    print(
      "\(rows.prefix): \(sent.count) rows in, \(items.count) records out, \(copies.count) rejected; \(result.count) feeds"
    )
  }

  /// Data with the patch of an event.
  private static func merged(_ event: OracleJSON, into data: String) throws -> String {
    guard let patch = event.last("data") else { return data }
    let merged = OracleMergePatch.merge(patch, into: try OracleJSON.parse(Array(data.utf8)))
    return String(decoding: merged, as: UTF8.self)
  }

  private func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

  /// What the mapping makes of the rows, without the events for sections, and the places of what it rejects.
  private func mapped(_ records: [TopicRecord]) throws -> (records: [String], rejected: [String]) {
    let ingest = try ConfigurationSources(assignments: ["ingest.sources=\(sources)"]).load().configuration
      .ingest
    let mappers = ingest.sources.enumerated().map { RowMapper($1, number: $0, Limits(), SentSections()) }
    var (outputs, rejected): ([String], [String]) = ([], [])
    for record in records {
      guard let mapper = mappers.first(where: { $0.source.topic == record.topic }) else { continue }
      let key = OwnedBytes(record.key)
      let value = OwnedBytes(record.value)
      let outcome = mapper.map(key: key.bytes.map { ByteSpan($0) }, value: value.bytes.map { ByteSpan($0) })
      if case .rejected = outcome { rejected.append("\(record.topic)/\(record.partition)/\(record.offset)") }
      for index in 0..<mapper.recordCount {
        let (feed, value) = mapper.record(index)
        let output = TopicRecord(key: Array(feed.buffer), value: Array(value.buffer))
        outputs.append("\(feed.text) \(Self.events(output).joined(separator: ","))")
      }
    }
    return (outputs, rejected)
  }

  /// The events of items, as they are spelled.
  private static func events(_ record: TopicRecord) -> [String] {
    guard let value = record.value, let json = try? OracleJSON.parse(value) else { return [] }
    return (json.elements ?? [json]).filter { $0.last("op")?.string != Array("section.upsert".utf8) }.map {
      String(decoding: $0.minified, as: UTF8.self)
    }
  }

  private static func compare(_ actual: [String], _ expected: [String]) throws {
    var counts: [String: Int] = [:]
    for record in expected { counts[record, default: 0] += 1 }
    for record in actual { counts[record, default: 0] -= 1 }
    let wrong = counts.filter { $0.value != 0 }
    try BrokerFailure.check(
      wrong.isEmpty,
      "\(wrong.count) records are there too often (-) or not often enough: \(wrong.prefix(5))"
    )
  }
}
