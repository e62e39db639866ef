import Diagnostics
import FeedTestSupport
import FeedWorker
import ObservationSupport
import Oracle
import Testing

extension OnCluster {
  /// Members of two builds: an earlier commit's, and this one.
  @Suite(
    .serialized,
    .enabled(
      if: TestCluster.earlierCommand != nil,
      "FEEDSTORE_TEST_EARLIER names no earlier build; see make test-upgrade"
    )
  )
  struct UpgradeTests {
    private static let members = 3

    private static var options: RunOptions {
      var options = RunOptions()
      // The version that the tools expect.
      options.settings["output.source"] = "/feedstore"
      // Earlier builds may not support orders.
      options.mayHaveOrders = false
      return options
    }

    @Test(
      .enabled(if: TestCluster.canMix, "by the changelog, the builds cannot be in one group"),
      arguments: [false, true]
    )
    func `a rolling upgrade and a roll-back lose and double nothing`(isStatic: Bool) async throws {
      var options = Self.options
      options.forbiddenEvents = [.groupProtocolMismatch, .partitionStopped]
      // Members must return within this time, however busy the machine is.
      if isStatic { options.settings["kafka.session.timeout.ms"] = "300000" }
      try await BrokerRun.on(isStatic ? "upgrade-static" : "upgrade", options) { run in
        var random = SplitMix64(seed: run.seed)
        var group = RollingGroup(run, isStatic: isStatic)
        run.load.start()
        for _ in 0..<Self.members { try group.add(.earlier) }
        try await group.waitForRecords()
        for build in [Build.current, .earlier] {
          var places = Array(0..<Self.members)
          let (first, second) = (
            places.remove(at: random.below(3)), places.remove(at: random.below(2))
          )
          try await group.replace(first, by: build)
          // In a mixed group, one member of each build is killed; a member of this build ends the other build's open
          // transaction.
          try await group.replace(first, by: build, isKilled: true)
          try await group.breakOff(second, build.other)
          try await group.replace(second, by: build, isKilled: true)
          try await group.replace(places[0], by: build)
          try await run.settle()
          try await run.checkTools()
          run.load.start()
          try await group.waitForRecords()
        }
      }
    }

    @Test(.enabled(if: !TestCluster.canMix, "the builds can be in one group"))
    func `a build that cannot be in one group with another takes over when the last of the others has left`()
      async throws
    {
      try await BrokerRun.on("upgrade-whole", Self.options) { run in
        run.load.start()
        var members = [try run.start(build: .earlier), try run.start(build: .earlier)]
        try await run.waitForRecordsInAllPartitions()
        for build in [Build.current, .earlier] {
          let waiting = [try run.start(build: build), try run.start(build: build)]
          try await run.wait("both to say why they wait") { _ in
            waiting.allSatisfy { $0.lines(with: "INCONSISTENT_GROUP_PROTOCOL") > 0 }
          }
          if build == .current {
            let isTold = waiting.allSatisfy { $0.firstLine(about: [.groupProtocolMismatch]) != nil }
            try BrokerFailure.check(isTold, "they do not say what to do")
          }
          try await run.waitForRecordsInAllPartitions()
          try await run.kill(members[0])
          try await run.stop(members[1])
          members = waiting
          try await run.waitForRecordsInAllPartitions()
          try await run.settle()
          try await run.checkTools()
          run.load.start()
          try await run.waitForRecordsInAllPartitions()
        }
      }
    }

    @Test(.enabled("the earlier build knows orders") { try Self.earlierLosesOrders() })
    func `a build that knows no orders stops a partition that has an ordered section, until it has none`()
      async throws
    {
      var options = Self.options
      options.partitions = 1
      try await BrokerRun.on("upgrade-ordered", options) { run in
        // Of both topics.
        let feeds = ["a", "b"]
        func send(_ settings: String, to feeds: [String]) async throws {
          let member = try run.start()
          for feed in feeds {
            run.load.send(feed: feed, partition: 0, #"{"op":"section.upsert","section":"s",\#(settings)}"#)
          }
          try await run.settle()
          try await run.stop(member)
        }
        try await send(#""keep":9"#, to: feeds)
        try await send(#""order":[{"by":"/n"}],"keep":null"#, to: feeds)
        try await send(#""order":null,"keep":null"#, to: [feeds[0]])
        let refusing = try run.start(build: .earlier)
        try await run.wait("the partition to be stopped") { _ in
          refusing.firstLine(about: [.partitionStopped]) != nil
        }
        let reason = refusing.firstLine(about: [.partitionStopped]) ?? ""
        try BrokerFailure.check(reason.contains("changesets up to \(Int64.max)"), "it says \(reason)")
        try await run.stop(refusing)
        try await send(#""order":null,"keep":null"#, to: feeds)
        let serving = try run.start(build: .earlier)
        run.load.start()
        try await run.waitForRecordsInAllPartitions()
        try BrokerFailure.check(
          serving.firstLine(about: [.partitionStopped]) == nil,
          "it stops the partition"
        )
      }
    }

    private static func earlierLosesOrders() throws -> Bool {
      let folder = try TemporaryFolder()
      let record = #"{"key":"f","value":{"op":"section.upsert","section":"s","keep":1}}"#
      let input = try folder.file("in", record.utf8)
      let run = try CommandRun(
        ["replay", input, "--output", "out"],
        of: Build.earlier.command,
        in: folder.url
      )
      try BrokerFailure.check(run.exitCode == 0, run.error)
      return try !folder.read("out").contains("keep")
    }
  }
}
