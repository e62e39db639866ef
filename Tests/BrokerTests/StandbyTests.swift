import ObservationSupport
import Testing

extension OnCluster {
  /// Members that follow other members' partitions.
  @Suite(.serialized) struct StandbyTests {
    /// Members with standby.
    ///
    /// - Parameter isServing: whether the follower also serves HTTP.
    private static func options(isServing: Bool) -> RunOptions {
      var options = RunOptions()
      options.settings["standby.enabled"] = "true"
      options.settings["http.enabled"] = "\(isServing)"
      options.settings["http.port"] = "0"
      return options
    }

    @Test(arguments: [false, true])
    func `whoever takes over what it has followed reads the tail only`(isServing: Bool) async throws {
      try await BrokerRun.on("standby", Self.options(isServing: isServing)) { run in
        run.load.start()
        let first = try run.start()
        try await run.waitForRecords(of: [first])
        let second = try run.start()
        try await run.wait("half of the partitions have moved") { _ in second.restorations.count == 2 }
        try await run.waitForRecords(300)
        // A partition that moves from the first and returns to it: the first has followed it all the time.
        try await run.wait("the first follows what it has given up") { _ in
          first.lines(with: "followed=2") > 0
        }
        try await run.stop(second)
        try await run.wait("they have moved back") { _ in first.restorations.values.reduce(0, +) == 6 }
        let back = first.restoredLines
        try BrokerFailure.check(
          back.reduce(0) { $0 + $1.standby } == 2,
          "not taken over from standby: \(back)"
        )
        // The publications of the last moments, of hundreds.
        try BrokerFailure.check((back.last?.records ?? .max) < 60, "more than the tail was read: \(back)")
        try await run.waitForRecords(of: [first])

        // And after a kill, a member that has followed from the beginning of the topic.
        let third = try run.start()
        try await run.wait("half of the partitions have moved again") { _ in third.restorations.count == 2 }
        try await run.wait("the third follows the others") { _ in third.lines(with: "followed=2") > 0 }
        try await run.waitForRecords(100)
        try await run.kill(first)
        try await run.wait("the third has all") { _ in third.restorations.count == 4 }
        let all = third.restoredLines
        try BrokerFailure.check(all.reduce(0) { $0 + $1.standby } == 2, "not taken over from standby: \(all)")
        try BrokerFailure.check((all.last?.records ?? .max) < 60, "more than the tail was read: \(all)")
        try await run.waitForRecords(of: [third])
      }
    }

    @Test(arguments: [false, true])
    func `members that follow each other are killed and started at random moments`(
      isServing: Bool
    ) async throws {
      try await BrokerRun.on("standby-kill", Self.options(isServing: isServing)) { run in
        run.load.start()
        var members = [try run.start(), try run.start(), try run.start()]
        try await run.waitForRecords(of: members)
        for number in 0..<2 {
          try await run.waitForRecords(200)
          let leaving = members.removeFirst()
          if number == 0 { try await run.kill(leaving) } else { try await run.stop(leaving) }
          members.append(try run.start())
          try await run.waitForRecords(of: members)
        }
      }
    }
  }
}
