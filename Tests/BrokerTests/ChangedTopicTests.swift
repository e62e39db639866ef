import FeedClient
import FeedStore
import FeedTestSupport
import Foundation
import ObservationSupport
import Oracle
import ProcessSupport
import Synchronization
import Testing

extension OnCluster {
  /// Topics that get more partitions, or are created again.
  @Suite(.serialized) struct ChangedTopicTests {
    private static let event = "event=topics.partitions-changed"

    @Test
    func
      `partitions that are added while a daemon runs are reported, and it goes on with those that it knows`()
      async throws
    {
      var options = RunOptions()
      options.partitions = 2
      try await BrokerRun.on("added", options) { run in
        let names = run.topics.names
        let first = try run.start()
        run.load.start()
        try await run.waitForRecords(100)

        try await run.onThread { try run.topics.addPartitions(to: [names.items], upTo: 4) }
        try await run.wait("a report about the items topic") { _ in
          first.lines(with: Self.event, " error ", "topic=\(names.items) before=2 after=4", names.sections)
            > 0
        }
        try await run.waitForRecordsInAllPartitions()

        // The group assigns new partitions, for which there are no changesets partitions.
        try await run.onThread { try run.topics.addPartitions(to: [names.sections], upTo: 4) }
        try await run.wait("a report about the sections topic") { _ in
          first.lines(
            with: Self.event,
            "topic=\(names.sections) before=2 after=4",
            "up to 4 to \(names.changesets)"
          ) > 0
        }
        try await run.wait("new partitions that are stopped") { _ in
          first.lines(with: "event=partition.stopped", "partition=2") > 0
            && first.lines(with: "event=partition.stopped", "partition=3") > 0
        }
        try await run.waitForRecordsInAllPartitions()
        run.load.pause()
        try await run.wait("the input's end") { _ in run.load.isIdle }
        try await run.stop(first)

        let (exitCode, message) = try await run.onThread {
          let refused = try CommandRun(["run"] + Build.options(run.common), in: run.directory)
          return (refused.exitCode, refused.error)
        }
        let problem = "topic \(names.changesets) has 2 partitions, fewer than the 4 of \(names.items)"
        try BrokerFailure.check(
          exitCode == 1 && message.contains(problem) && message.contains("up to 4"),
          "exit code \(exitCode): \(message)"
        )

        // In each case, the next start reports it, and the one after it does not.
        try await run.onThread {
          try run.topics.addPartitions(to: [names.changesets, names.rejected], upTo: 4)
        }
        let third = try run.start()
        try await run.wait("a report at the start") { _ in
          third.lines(with: Self.event, "topic=\(names.items) before=2 after=4", "start over there") > 0
        }
        run.load.start()
        try await run.waitForRecordsInAllPartitions()
        try await run.settle()
        try await run.stop(third)
        let fourth = try run.start()
        run.load.start()
        try await run.waitForRecords(of: [fourth])
        try BrokerFailure.check(
          fourth.lines(with: Self.event) == 0,
          "the report is repeated at the next start"
        )
      }
    }

    @Test func `an input that was created again stops a start, and its feeds go on with it if so configured`()
      async throws
    {
      let life = try await RecreatedInput()
      try await life.run(until: "old5") { try life.publish("old1", "old2", "old3", "old4", "old5") }
      try life.topics.recreate(life.topics.names.items)
      // The group's offsets were deleted with the topic.
      let refused = try life.command(["run"])
      let problem =
        "\(life.topics.names.items) [0] ends at 0, but feeds have taken records of it up to offset 4"
      try BrokerFailure.check(
        refused.exitCode == 1 && refused.error.contains(problem),
        "exit code \(refused.exitCode): \(refused.error)"
      )
      // New records reuse offsets of old ones.
      try await life.run(["kafka.onLostInput": "continue"], until: "new2") {
        try life.publish("new1", "new2")
      }
      // This is known from then on, while some feeds still refer to records of the old topic.
      try life.publish("new3", feed: "sports")
      try await life.run(until: "new4") { try life.publish("new4") }
      let items = try life.items(of: "news") + life.items(of: "sports")
      try BrokerFailure.check(
        items == ["old1", "old2", "old3", "old4", "old5", "new1", "new2", "new4", "new3"],
        "\(items)"
      )
      try life.topics.delete()
    }

    @Test func `whoever follows all partitions follows those that are added`() async throws {
      var options = RunOptions()
      options.partitions = 1
      try await BrokerRun.on("followed", options) { run in
        let topic = run.topics.names.changesets
        let member = try run.start()
        let warnings = Mutex<[String]>([])
        let client = FeedClient(FeedClientOptions(kafka: run.topics.client, topic: topic)) {
          _,
          facility,
          text in
          if facility == "PARTITIONS" { warnings.withLock { $0.append(text) } }
        }
        async let following: Void = client.run()
        let isUpToDate = await client.waitUntilUpToDate()
        try BrokerFailure.check(
          isUpToDate && client.partitions.map(\.number) == [0],
          "partition 0 is not followed"
        )
        try await run.onThread { try run.topics.addPartitions(to: [topic], upTo: 2) }
        try await run.wait("a second partition") { _ in client.partitions.map(\.number) == [0, 1] }
        let texts = warnings.withLock { $0 }
        try BrokerFailure.check(
          texts.count == 1 && texts[0].contains("\(topic) had 1 partitions and has 2 now"),
          "\(texts)"
        )
        client.stop()
        try await following
        try await run.wait("a report about the changesets topic") { _ in
          member.lines(with: Self.event, "topic=\(topic) before=1 after=2", "no feed is affected") > 0
        }
      }
    }
  }
}

/// A sequence of daemons on topics of which one is recreated.
private final class RecreatedInput: Sendable {
  let topics = TestTopics("recreated", partitions: 1)
  private let folder = FileManager.default.temporaryDirectory

  init() async throws { try await topics.create() }

  func publish(_ items: String..., feed: String = "news") throws {
    try topics.produce(items.count) { number in
      (0, feed, #"{"op":"item.upsert","item":"\#(items[number])","section":"s"}"#)
    }
  }

  func command(_ arguments: [String]) throws -> CommandRun {
    try CommandRun(arguments + Build.options(topics.settings), in: folder)
  }

  /// The ids of a feed's items in its publications.
  func items(of feed: String) throws -> [String] {
    let text = try command(["follow", feed, "--snapshot", "--json"]).output
    return text.matches(of: /"id":"((?:old|new)[0-9])"/).map { String($0.1) }
  }

  /// Runs a daemon until it has published an item.
  func run(_ settings: [String: String] = [:], until item: String, _ body: () throws -> Void) async throws {
    let path = folder.appendingPathComponent("\(topics.prefix).log").path
    let member = try Member("member", topics.settings.merging(settings) { $1 }, logPath: path)
    try body()
    let deadline = ContinuousClock.now + .seconds(600)
    while try !items(of: "news").contains(item) {
      try BrokerFailure.check(ContinuousClock.now < deadline, "\(item) is not published; see \(path)")
      try BrokerFailure.check(member.end == nil, "the daemon has ended: \(member.endText); see \(path)")
    }
    member.askToStop()
    while member.end == nil {
      try BrokerFailure.check(ContinuousClock.now < deadline, "the daemon does not end; see \(path)")
      await Task.yield()
    }
    try BrokerFailure.check(member.end == .exited(0), "\(member.endText); see \(path)")
  }
}
