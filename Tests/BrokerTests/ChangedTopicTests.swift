import FeedClient
import FeedStore
import FeedTestSupport
import ObservationSupport
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

        // All alike: the next start says so, and the one after it does not.
        try await run.onThread {
          try run.topics.addPartitions(to: [names.changesets, names.rejected], upTo: 4)
        }
        let third = try run.start()
        try await run.wait("a report at the start") { _ in
          third.lines(with: Self.event, "topic=\(names.items) before=2 after=4", "begin anew there") > 0
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
