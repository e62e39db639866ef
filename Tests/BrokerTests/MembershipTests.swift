import Testing

extension OnCluster {
  /// Members that come and go while there is something to do.
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

    @Test func `a restart under the name of its instance moves nothing`() async throws {
      var options = RunOptions()
      // A restart must be quicker.
      options.settings["kafka.session.timeout.ms"] = "300000"
      try await BrokerRun.on("static", options) { run in
        run.load.start()
        let other = try run.start(["kafka.group.instance.id": "other"])
        try await run.waitForRecords(of: [other])
        var restarted = try run.start(["kafka.group.instance.id": "restarted"])
        try await run.waitForRecords(of: [other, restarted])
        let assignments = other.lines(with: "event=group.assigned")
        for isStoppedWell in [true, false] {
          if isStoppedWell { try await run.stop(restarted) } else { try await run.kill(restarted) }
          restarted = try run.start(["kafka.group.instance.id": "restarted"])
          try await run.waitForRecords(of: [other, restarted])
        }
        try BrokerFailure.check(
          other.lines(with: "event=group.assigned") == assignments,
          "the other member was assigned partitions anew"
        )
      }
    }
  }
}
