import ObservationSupport
import Testing

extension OnCluster {
  /// A member that hangs, loses its partitions, and wakes up believing that they are still its own.
  @Suite(.serialized) struct ZombieTests {
    @Test func `a member that wakes up after its session publishes nothing more to what it lost`()
      async throws
    {
      try await BrokerRun.on("zombie") { run in
        run.load.start()
        let zombie = try run.start()
        let heir = try run.start()
        try await run.waitForRecords(of: [zombie, heir])
        zombie.suspend()
        // What it had is the other's as soon as that publishes to all partitions.
        try await run.wait("the heir's records in all partitions") { observation in
          observation.lastSource.count == Int(run.options.partitions)
            && observation.lastSource.values.allSatisfy { $0 == "/\(heir.name)" }
        }
        // With all input committed, whatever it publishes now was published by the other already.
        try await run.settle()
        let published = run.observer.observation.records
        let assignments = zombie.lines(with: "event=group.assigned")
        zombie.resume()
        try await run.wait("the zombie to be a member again") { _ in
          zombie.lines(with: "event=group.assigned") > assignments
        }
        try await run.waitForOutput()
        try BrokerFailure.check(
          run.observer.observation.records == published,
          "something was published after the zombie woke up"
        )
        run.load.start()
        try await run.waitForRecords(of: [zombie, heir])
      }
    }

    @Test func `a member that wakes up during load doubles nothing`() async throws {
      try await BrokerRun.on("zombie-load") { run in
        run.load.start()
        let zombie = try run.start()
        let heir = try run.start()
        try await run.waitForRecords(of: [zombie, heir])
        for _ in 0..<2 {
          zombie.suspend()
          try await run.wait("the heir's records in all partitions") { observation in
            observation.lastSource.values.allSatisfy { $0 == "/\(heir.name)" }
          }
          zombie.resume()
          try await run.waitForRecords(of: [zombie, heir])
        }
      }
    }
  }
}
