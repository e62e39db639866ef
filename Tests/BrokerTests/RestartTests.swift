import Testing

extension OnCluster {
  /// Going on from what is committed.
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
        // Also when there was nothing to publish any more.
        try await run.settle()
        try await run.stop(third)
        let fourth = try run.start()
        run.load.start()
        try await run.waitForRecords(of: [fourth])
      }
    }
  }
}
