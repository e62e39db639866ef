import Oracle
import Testing

extension OnCluster {
  /// Contents that many items show.
  @Suite(.serialized) struct ContentsTests {
    private static var options: RunOptions {
      var options = RunOptions()
      // Which items of a bounded section stay depends on when contents arrive.
      options.mayHaveOrders = false
      options.generator.hasContents = true
      options.settings["contents.window"] = "100"
      return options
    }

    @Test(arguments: [false, true])
    func `members that are killed, hang and join leave a join of the final tables`(
      hasStandby: Bool
    ) async throws {
      var options = Self.options
      options.settings["standby.enabled"] = "\(hasStandby)"
      try await BrokerRun.on("contents", options) { run in
        run.load.start()
        var members = [try run.start(), try run.start()]
        try await run.waitForRecords(of: members)
        for round in 0..<TestCluster.kills {
          try await run.waitForRecords(100)
          let victim = members.removeFirst()
          if round == 1 {
            // Longer than its session: it comes back as a zombie.
            victim.suspend()
            try await run.waitForRecords(of: members)
            victim.resume()
            members.append(victim)
          } else {
            try await run.kill(victim)
            members.append(try run.start())
          }
        }
        try await run.waitForRecords(of: members)
      }
    }
  }
}

extension OnCluster.BrokerRestartTests {
  @Test(
    .enabled(if: TestCluster.restartCommand != nil, "FEEDSTORE_TEST_RESTART names no command that restarts")
  )
  func `items show the last contents although brokers restart`() async throws {
    var options = RunOptions()
    options.mayHaveOrders = false
    options.generator.hasContents = true
    try await BrokerRun.on("contents-brokers", options) { run in
      run.load.start()
      let members = [try run.start(), try run.start()]
      for _ in 0..<2 {
        try await run.waitForRecords(of: members)
        try await run.restartBrokers()
      }
      try await run.waitForRecords(of: members)
    }
  }
}
