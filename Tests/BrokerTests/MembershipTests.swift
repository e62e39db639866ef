import Diagnostics
import FeedWorker
import ObservationSupport
import Testing

extension OnCluster {
  /// Members that join and leave during load.
  @Suite(.serialized) struct MembershipTests {
    @Test func `members join and leave during load`() async throws {
      try await BrokerRun.on("membership") { run in
        run.load.start()
        let first = try run.start()
        try await run.waitForRecords(of: [first])
        let second = try run.start()
        try await run.waitForRecords(of: [first, second])
        let third = try run.start()
        try await run.waitForRecords(of: [first, second, third])
        try await run.stop(first)
        try await run.waitForRecords(of: [second, third])
        let fourth = try run.start()
        try await run.stop(second)
        try await run.waitForRecords(of: [third, fourth])
        try await run.stop(third)
        try await run.waitForRecords(of: [fourth])
      }
    }

    @Test func `partitions that stay are not restored again when members join and leave`() async throws {
      var options = RunOptions()
      options.partitions = 6
      try await BrokerRun.on("staying", options) { run in
        run.load.start()
        let first = try run.start()
        try await run.wait("all partitions are restored") { _ in first.restorations.count == 6 }
        let second = try run.start()
        try await run.wait("half of them have moved") { _ in second.restorations.count == 3 }
        let third = try run.start()
        try await run.wait("a third of them has moved") { _ in third.restorations.count == 2 }
        try await run.waitForRecords(of: [first, second, third])
        // Each partition once for each new owner: partitions that stayed were not restored again.
        let restored = Self.restorations(of: [first, second, third])
        try BrokerFailure.check(restored == 6 + 3 + 2, "\(restored) restorations")

        // When a member leaves, only its partitions are restored.
        try await run.stop(second)
        try await run.wait("its partitions are restored") { _ in
          Self.restorations(of: [first, third]) == 6 + 2 + 2
        }
        try await run.waitForRecords(of: [first, third])
        let lost = first.lines(with: "partitions lost") + third.lines(with: "partitions lost")
        try BrokerFailure.check(lost == 0, "partitions were lost although no member hung")
      }
    }

    @Test func `a member that the group does not take in says why, and joins when the others have left`()
      async throws
    {
      try await BrokerRun.on("mismatch") { run in
        run.load.start()
        let other = try RangeMember(run.topics)
        try await run.wait("a group that assigns by range") { _ in other.hasPartitions }
        let member = try run.start()
        try await run.wait("the member to say why it waits") { _ in
          member.firstLine(about: [.groupProtocolMismatch]) != nil
        }
        try await run.onThread { try other.leave() }
        try await run.waitForRecords(of: [member])
      }
    }

    /// How often these members have restored a partition.
    private static func restorations(of members: [Member]) -> Int {
      members.reduce(0) { $0 + $1.restorations.values.reduce(0, +) }
    }

    @Test func `a restart with the same instance name moves nothing`() async throws {
      var options = RunOptions()
      // A restart must be faster than this.
      options.settings["kafka.session.timeout.ms"] = "300000"
      try await BrokerRun.on("static", options) { run in
        run.load.start()
        let other = try run.start(["kafka.group.instance.id": "other"])
        try await run.waitForRecords(of: [other])
        var restarted = try run.start(["kafka.group.instance.id": "restarted"])
        try await run.waitForRecords(of: [other, restarted])
        let restorations = other.restorations
        for isStoppedWell in [true, false] {
          if isStoppedWell { try await run.stop(restarted) } else { try await run.kill(restarted) }
          restarted = try run.start(["kafka.group.instance.id": "restarted"])
          try await run.waitForRecords(of: [other, restarted])
        }
        try BrokerFailure.check(
          other.restorations == restorations,
          "the other member was given partitions that it had to restore"
        )
      }
    }
  }
}

extension OnCluster {
  /// A member that hangs, loses its partitions, and resumes as if it still owned them.
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
        // All input is committed, so the other member has already published all that this one could.
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
