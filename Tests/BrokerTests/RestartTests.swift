import Diagnostics
import FeedWorker
import ObservationSupport
import Oracle
import Testing

extension OnCluster {
  /// Restarts from the committed offsets.
  @Suite(.serialized) struct RestartTests {
    @Test func `a daemon that was stopped, and one that was killed, go on without publishing anything twice`()
      async throws
    {
      try await BrokerRun.on("restart") { run in
        run.load.start()
        let first = try run.start()
        try await run.waitForRecords(200)
        try await run.stop(first)
        let second = try run.start()
        try await run.waitForRecords(200)
        try await run.kill(second)
        let third = try run.start()
        try await run.waitForRecords(200)
        // Even when nothing was left to publish.
        try await run.settle()
        try await run.stop(third)
        let fourth = try run.start()
        run.load.start()
        try await run.waitForRecords(of: [fourth])
      }
    }
  }
}

extension OnCluster {
  /// Brokers that restart.
  @Suite(.serialized) struct BrokerRestartTests {
    @Test(
      .enabled(if: TestCluster.restartCommand != nil, "FEEDSTORE_TEST_RESTART names no command that restarts")
    )
    func `restarted brokers are waited for`() async throws {
      try await BrokerRun.on("brokers") { run in
        run.load.start()
        let members = [try run.start(), try run.start()]
        try await run.waitForRecords(of: members)
        for _ in 0..<2 {
          try await run.restartBrokers()
          // Records in flight may still arrive while the brokers stop.
          try await run.waitForRecords(300)
          try await run.waitForRecords(of: members)
        }
      }
    }
  }
}

extension OnCluster {
  /// Crashes at random moments.
  @Suite(.serialized) struct KillTests {
    @Test func `members that are killed at random moments lose and repeat nothing`() async throws {
      try await kill("kill", RunOptions())
    }

    /// A crash may leave a part of a window committed, and the rest not.
    @Test
    func `members with two workers that commit windows in several transactions lose and repeat nothing`()
      async throws
    {
      var options = RunOptions()
      options.partitions = 6
      options.settings["workers"] = "2"
      // Each feed has its own transaction then.
      options.settings["transactions.maxBytes"] = "1"
      try await kill("parts", options)
    }

    @Test func `a transaction that a killed member left open holds nobody up`() async throws {
      var options = RunOptions()
      // Longer than the maximum duration of a run.
      options.settings["kafka.transaction.timeout.ms"] = "600000"
      let allPartitions = Int(options.partitions)
      try await BrokerRun.on("abandoned", options) { run in
        run.load.start()
        let heir = try run.start()
        try await run.waitForRecords(of: [heir])
        let doomed = try run.start(crash: "after-offsets:20")
        try await run.waitForEnd(of: doomed)
        try await run.wait("what it had is restored") { _ in
          heir.restorations.values.reduce(0, +) == allPartitions + 2
        }
        try await run.waitForRecords(of: [heir])
        // A broker with the request ends it, even if its answer arrives after the successor's wait.
        let lateAnswers = heir.lines(
          with: " event=\(LogEvent.restoreTransactionLeftOpen.name) ",
          "could not start the transactional producer"
        )
        try BrokerFailure.check(
          heir.firstLine(about: [.restoreTransactionEnded]) != nil || lateAnswers > 0,
          "the transaction is not known to have been ended"
        )
      }
    }

    private func kill(_ name: String, _ options: RunOptions) async throws {
      try await BrokerRun.on(name, options) { run in
        var random = SplitMix64(seed: run.seed)
        run.load.start()
        var members = [try run.start(), try run.start(), try run.start()]
        try await run.waitForRecords(of: members)
        for _ in 0..<TestCluster.kills {
          try await run.waitForRecords(1 + random.below(300))
          let victim = members.remove(at: random.below(members.count))
          try await run.kill(victim)
          // Sometimes another member starts at once, sometimes after the session has expired.
          if random.chance(50) { try await run.waitForRecords(1 + random.below(300)) }
          members.append(try run.start())
        }
        try await run.waitForRecords(of: members)
      }
    }
  }
}
