import ObservationSupport
import Testing

extension OnCluster {
  /// A member that hangs, loses its partitions, and resumes in the belief that it still has them.
  @Suite(.serialized) struct ZombieTests {
    @Test func `a member that resumes after its session publishes nothing more to its lost partitions`()
      async throws
    {
      try await BrokerRun.on("zombie") { run in
        run.load.start()
        let zombie = try run.start()
        let heir = try run.start()
        try await run.waitForRecords(of: [zombie, heir])
        zombie.suspend()
        // The other member owns the partitions once it publishes to all of them.
        try await run.wait("the heir's records in all partitions") { observation in
          observation.lastSource.count == Int(run.options.partitions)
            && observation.lastSource.values.allSatisfy { $0 == "/\(heir.name)" }
        }
        // All input is committed, so the other member has already published whatever this one could.
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

    @Test func `a member that resumes during load repeats nothing`() async throws {
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
