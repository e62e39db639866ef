import Testing

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
