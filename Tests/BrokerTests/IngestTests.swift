import Diagnostics
import FeedConfiguration
import FeedIngest
import FeedKafka
import FeedStore
import Foundation
import IngestTestSupport
import Kafka
import ObservationSupport
import OperatingSystem
import Oracle
import ProcessSupport
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

    @Test func `a registry of schemas that is down delays rows, and loses and repeats nothing`() async throws
    {
      try await IngestRun.on("ingest-avro", .debeziumAvro) { run in
        run.registry.status = 503
        let members = [try run.start(), try run.start()]
        try await run.send(60)
        for member in members { try await run.wait(for: .ingestSchemaUnavailable, of: member) }
        run.registry.status = nil
        try await run.waitForCommits()
        try await run.send(60)
        members[0].kill()
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

/// Three tables that change at random, as change events and as rows, and processes that map them to items and contents.
private final class IngestRun {
  private let seed = TestCluster.seed
  private var random: SplitMix64
  /// Where the rows are, and where they go: there are fewer partitions there.
  private let rows = TestTopics("rows", partitions: 5)
  private let contacts = TestTopics("contacts", partitions: 5)
  private let feeds = TestTopics("feeds", partitions: 2)
  private var tables: TableScripts
  private var members: [Member] = []
  private let directory: URL
  let registry: TestRegistry

  private init(_ format: TableScript.Format) throws {
    random = SplitMix64(seed: seed)
    let sources = [
      (rows.names.items, format), (rows.names.sections, .json), (contacts.names.items, .contents),
    ]
    tables = TableScripts(sources, seed: seed)
    registry = try TestRegistry()
    for (id, schema) in TableScript.avroSchemas.enumerated() { registry.schemas[id] = schema }
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(rows.prefix)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  static func on(
    _ label: String,
    _ format: TableScript.Format = .debeziumWithSchema,
    createsRows: Bool = true,
    _ body: (IngestRun) async throws -> Void
  ) async throws {
    let run = try IngestRun(format)
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
    try run.contacts.delete()
    try run.rows.delete()
    try run.feeds.delete()
    try FileManager.default.removeItem(at: run.directory)
  }

  func below(_ count: Int) -> Int { random.below(count) }

  func createRows() async throws {
    try await contacts.create()
    try await rows.create()
  }

  private var sources: [String] { [rows.names.items, rows.names.sections, contacts.names.items] }
  /// Both inputs of the daemon are one topic, so that the other one is there for contents.
  private var contents: String { feeds.names.sections }
  private var mapping: [String: String] {
    [
      "ingest.sources": tables.sources, "ingest.schemaRegistry.url": registry.url,
      "topics.sections": feeds.names.items, "topics.contents": contents,
    ]
  }

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

  func start(crash: String? = nil) throws -> Member {
    let own = mapping.merging(["ingest.group": rows.prefix]) { $1 }
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
    var records: [(topic: String, row: Int, key: [UInt8]?, value: [UInt8]?)] = []
    for table in 0..<tables.count {
      for (topic, record) in (0..<count).flatMap({ _ in tables.step(table) }) {
        let (key, value) = (tables[table].encoded(record.key), tables[table].encoded(record.value))
        records.append((topic, record.row, key, value))
      }
    }
    try await onThread { [rows, records] in
      let producer = try Producer(configuration: rows.client, log: { _, _, _ in })
      for (topic, row, key, value) in records {
        let key = OwnedBytes(key)
        let value = OwnedBytes(value)
        let partition = Int32(row) % rows.partitions
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
      try await onThread { [rows, sources] in
        let ends = try TopicReader.contents(rows, sources).ends
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
    let sent = try await onThread { [rows, sources] in try TopicReader.contents(rows, sources).records }
    let written = try await onThread { [feeds, contents] in
      try TopicReader.contents(feeds, [contents, feeds.names.items, feeds.names.rejected]).records
    }
    let made = written.filter { $0.topic != feeds.names.rejected }
    let settings = mapping.map { "\($0)=\($1)" }
    let debts = RowDebts(sent, try ConfigurationSources(assignments: settings).load().configuration.ingest)
    var observation = Observation()
    for record in written where record.topic == feeds.names.rejected {
      observation.take(record, changesets: "")
    }
    let complaints = debts.complaints(about: made) + observation.violations
    try BrokerFailure.check(complaints.isEmpty, "\(complaints.count) complaints: \(complaints.prefix(5))")
    let copies = observation.rejected
    try BrokerFailure.check(copies == debts.rejected, "rejected are \(copies), expected \(debts.rejected)")
    let items = made.filter { $0.topic == feeds.names.items }
    let shared = made.filter { $0.topic == contents }
    let oracle = InputOracle(items, contents: shared, contentsTopic: contents)
    let (result, query) = (FeedContents(oracle.feeds).sections, tables.query)
    try BrokerFailure.check(result == query, "the feeds are \(result), and a query gives \(query)")
    print(
      "\(rows.prefix): \(sent.count) rows in, \(made.count) records out, \(copies.count) rejected; \(result.count) feeds"
    )
  }
}
