import Diagnostics
import Feed
import FeedChecks
import FeedClient
import FeedConfiguration
import FeedStatus
import FeedStore
import FeedWorker
import Foundation
import Kafka
import ObservationSupport
import OperatingSystem
import Synchronization
import Testing

@testable import FeedKafka
@testable import FeedTools

/// Followers of a running daemon.
struct FollowTests {
  private static func record(
    _ feed: String,
    _ item: String,
    _ number: Int,
    partition: Int32 = 0
  ) -> TopicRecord {
    TopicRecord(
      partition: partition,
      timestamp: 1_795_168_800_000 + Int64(number),
      feed,
      "{\"op\":\"item.upsert\",\"item\":\"\(item)\",\"section\":\"s\",\"data\":\(number)}"
    )
  }

  private static func inspect(
    _ ground: Ground,
    _ feed: String,
    stop: StopRequest = StopRequest(),
    patience: Int64 = FollowSession.patienceMilliseconds
  ) async throws -> String? {
    try await FeedInspection.run(
      ground.configuration,
      feed: feed,
      stop: stop,
      log: Ground.quiet,
      patienceMilliseconds: patience
    )
  }

  @Test func `a client follows a daemon, snapshot by snapshot`() async throws {
    var ground = try Ground(partitions: 2)
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.maxRecords = 1
    let client = FeedClient(
      FeedClientOptions(kafka: try KafkaSettings(ground.configuration.kafka).reader),
      log: { _, _, _ in }
    )
    let updates = client.updates()
    async let following: Void = client.run()
    let records = (0..<60).map { number in
      Self.record("feed-\(number % 3)", "i\(number % 7)", number, partition: Int32(number % 3 % 2))
    }
    try ground.produce(records, to: "feeds.items")
    let report = try await ground.runDaemon(applying: records.count)
    var snapshots: [String: Snapshot] = [:]
    var isReached = false
    for try await update in updates {
      let before = snapshots[update.feed]
      snapshots[update.feed] = update.snapshot
      if case .changed(let changeset, let after?) = update, let difference = changeset.change.difference {
        var applied = try #require(before)
        try applied.apply(difference)
        #expect(applied.hasSameContent(as: after))
      }
      isReached = report.feeds.allSatisfy { feed in
        snapshots[feed.feed]?.checksum == feed.checksum
          && client.content(of: feed.feed)?.description.revision == feed.revision
      }
      if isReached { break }
    }
    #expect(isReached)
    #expect(client.feeds().map(\.feed) == report.feeds.map(\.feed))
    client.stop()
    try await following
  }

  /// Collects a command's output, and closes it after a number of lines.
  private final class Output: Sendable {
    private let text = Mutex("")
    private let lines: Int

    init(lines: Int = .max) { self.lines = lines }

    func write(_ more: String) -> Bool {
      text.withLock { text in
        text += more
        return text.split(separator: "\n").count < lines
      }
    }

    var all: [String] { text.withLock { $0.split(separator: "\n").map(String.init) } }
  }

  private func following(
    _ ground: Ground,
    _ feeds: [String],
    _ form: FeedFollowing.Form,
    _ output: Output,
    beginsWithHistory: Bool = false
  ) -> FeedFollowing {
    var following = FeedFollowing(
      ground.configuration,
      form: form,
      stop: StopRequest(),
      log: Ground.quiet
    ) { output.write($0) }
    following.feeds = feeds
    following.beginsWithHistory = beginsWithHistory
    return following
  }

  @Test func `the commands print the history, the state and the description of a feed`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.maxRecords = 1
    let records = [Self.record("a", "x", 0), Self.record("b", "x", 1), Self.record("a", "x", 2)]
    try ground.produce(records, to: "feeds.items")
    _ = try await ground.runDaemon(applying: records.count)
    let topic = try ground.contents(of: "feeds.changesets", partitions: 1).compactMap(\.valueText)

    let history = Output(lines: topic.count)
    try await following(ground, [], .json, history, beginsWithHistory: true).run()
    #expect(history.all == topic.map { "{\"partition\":0," + $0.dropFirst() })

    let lines = Output(lines: 2)
    try await following(ground, [], .lines(isColoured: false), lines).run()
    #expect(
      lines.all.map { $0.split(separator: " ").prefix(5).joined(separator: " ") } == [
        "a [0] rev 2 present", "b [0] rev 1 present",
      ]
    )

    var inWindow = following(ground, ["a"], .json, Output(lines: 1))
    inWindow.window = FeedWindow(extent: .first(0))
    let heads = Output(lines: 1)
    inWindow.write = { heads.write($0) }
    try await inWindow.run()
    #expect(
      heads.all.count == 1 && heads.all[0].contains(#""window":[{"section":"s","from":0,"shown":0,"of":1}]"#)
    )
    let headState = Output()
    inWindow.write = { headState.write($0) }
    #expect(try await inWindow.printSnapshot().isEmpty)
    #expect(headState.all == heads.all)

    let state = Output()
    #expect(
      try await following(ground, ["b", "c"], .lines(isColoured: false), state).printSnapshot() == [
        "there is no feed \"c\""
      ]
    )
    #expect(state.all == ["b [0]  rev 1  1 items", "   s  null", "     x    1"])

    let report = try #require(try await Self.inspect(ground, "a"))
    for line in ["standing", "up to date", "feeds.items:", "/0", "2026-11-20T10:00:00.002Z"] {
      #expect(report.contains(line))
    }
  }

  @Test func `the commands show the feeds of each partition that has an id, and warn`() async throws {
    var ground = try Ground(partitions: 3)
    defer { ground.cluster.stop() }
    let records = (0...2).map { Self.record("dup", "in-\($0)", 0, partition: $0) }
    try ground.produce(records, to: "feeds.items")
    ground.configuration.store.coalescing.maxRecords = records.count
    let warnings = Output()
    // A separate log for each command, because it counts repetitions.
    func log() -> Log {
      Log(level: .warning, output: DiagnosticOutput(isTerminal: false) { _ = warnings.write($0) })
    }
    _ = try await ground.runDaemon(applying: records.count, log: log())
    func told() -> Int {
      warnings.all.count { $0.contains("event=input.feed-in-several-partitions") && $0.contains("0, 1, 2") }
    }
    #expect(told() == 1, "\(warnings.all)")

    func items(_ output: Output) -> [String] {
      output.all.sorted().compactMap { line in
        line.firstMatch(of: /^\{"partition":([0-9]).*"(in-[0-9])"/).map { "\($0.1) \($0.2)" }
      }
    }
    let all = ["0 in-0", "1 in-1", "2 in-2"]
    for names in [[], ["dup"]] {
      let live = Output(lines: 3)
      try await following(ground, names, .json, live).run()
      #expect(items(live) == all)
      let state = Output()
      var following = following(ground, names, .json, state)
      following.log = log()
      #expect(try await following.printSnapshot() == [])
      #expect(items(state) == all)
    }
    #expect(told() == 3, "\(warnings.all)")
    let report = try #require(try await Self.inspect(ground, "dup"))
    let places = report.matches(of: /also in +(\d, \d): these are separate feeds/).map { String($0.1) }
    #expect(places == ["1, 2", "0, 2", "0, 1"], "\(report)")
  }

  @Test func `a state that is outdated is marked, also where there is none`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    func changeset(_ feed: String, _ revision: Int, _ mode: String) -> TopicRecord {
      let head =
        "{\"feed\":\"\(feed)\",\"epoch\":\"feeds.items/0\",\"revision\":\(revision),\"base\":\(revision - 1),"
        + "\"mode\":\"\(mode)\",\"time\":\"2026-11-20T10:00:00.000Z\",\"through\":{},\"checksum\":\"00000000\"}"
      return TopicRecord(partition: 0, timestamp: 1, mode == "reload" ? "k0/\(feed)" : "d1/\(feed)", head)
    }
    try ground.produce(
      [
        changeset("a", 1, "reload"), changeset("a", 3, "diff"), changeset("b", 2, "diff"),
        changeset("c", 1, "reload"),
      ],
      to: "feeds.changesets"
    )
    let json = Output()
    let problems = try await following(ground, [], .json, json).printSnapshot()
    #expect(problems.map { String($0.prefix(12)) } == ["feed \"a\" [0]", "feed \"b\" [0]"])
    let beginnings = [
      "{\"partition\":0,\"stale\":true,\"feed\":\"a\"", "{\"partition\":0,\"feed\":\"c\",\"epoch\"",
      "{\"partition\":0,\"feed\":\"b\",\"error\":\"must-refetch\"",
    ]
    #expect(json.all.count == 3 && zip(json.all, beginnings).allSatisfy { $0.hasPrefix($1) }, "\(json.all)")
    let lines = Output()
    #expect(
      try await following(ground, ["a", "b"], .lines(isColoured: false), lines).printSnapshot().count == 2
    )
    #expect(lines.all.allSatisfy { $0.contains("  must refetch: ") })
    #expect(try await Self.inspect(ground, "b")?.contains("must refetch") == true)
  }

  @Test func `the commands explain why a changeset is a difference`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.maxRecords = 1
    let records = ["x", "y"].enumerated().map { Self.record("a", $1, $0) }
    try ground.produce(records, to: "feeds.items")
    _ = try await ground.runDaemon(applying: records.count)

    let lines = Output(lines: 2)
    try await following(ground, [], .lines(isColoured: false), lines, beginsWithHistory: true).run()
    let why = "1 change of 2 items weighs 0.50; reload above 5,000 changes; "
    #expect(lines.all.map { $0.contains(why) } == [false, true], "\(lines.all)")
    let report = try #require(try await Self.inspect(ground, "a"))
    #expect(report.contains(why) && report.contains("diff"), "\(report)")
  }

  @Test func `a command stopped before the topic was read does not report missing feeds`() async throws {
    var ground = try Ground()
    ground.loseBrokers()
    let stop = StopRequest()
    stop.request()
    let following = FeedFollowing(
      ground.configuration,
      form: .json,
      stop: stop,
      log: Ground.quiet
    ) { _ in true }
    await #expect(throws: StoppedEarly.self) { try await following.printSnapshot() }
    await #expect(throws: StoppedEarly.self) { try await Self.inspect(ground, "a", stop: stop) }
  }

  @Test func `a topic that cannot be read is reported with the reason`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.store.topics.changesets = "nothing.here"
    ground.configuration.startupTimeoutMilliseconds = 0
    let stop = StopRequest()
    let error = await #expect(throws: FeedClientError.self) {
      try await Self.inspect(ground, "a", stop: stop)
    }
    #expect(error?.code == .missingTopic)
  }

  @Test func `the wait for a state that never arrives is limited`() async throws {
    var ground = try Ground()
    ground.loseBrokers()
    ground.configuration.startupTimeoutMilliseconds = 0
    var following = FeedFollowing(
      ground.configuration,
      form: .json,
      stop: StopRequest(),
      log: Ground.quiet
    ) { _ in true }
    following.patienceMilliseconds = 200
    let error = await #expect(throws: DaemonError.self) { try await following.printSnapshot() }
    #expect(error?.message.contains("received nothing more from topic feeds.changesets") == true)
    await #expect(throws: DaemonError.self) { try await Self.inspect(ground, "a", patience: 200) }
  }
}
