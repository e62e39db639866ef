import ObservationSupport
import Oracle
import Service
import Testing

extension OnCluster {
  /// Members of two builds: the one of an earlier commit, and this one.
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
      // The one that the tools expect.
      options.settings["output.source"] = "/feedstore"
      return options
    }

    @Test(
      .enabled(if: TestCluster.canMix, "by the changelog, the builds cannot be in one group"),
      arguments: [false, true]
    )
    func `a rolling upgrade and a roll-back lose and double nothing`(isStatic: Bool) async throws {
      var options = Self.options
      options.forbiddenEvents = [.groupProtocolMismatch, .partitionStopped]
      // Members must return within that, however busy the machine is.
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
          // In a group of both, one of each is killed; the transaction that the other one leaves open is ended by a member
          // of this build.
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
  }
}
