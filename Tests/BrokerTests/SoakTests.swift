import Oracle
import Testing

extension OnCluster {
  /// All disturbances together, for as long as requested.
  @Suite(.serialized) struct SoakTests {
    /// The number of running members; sometimes one more or fewer.
    private static let members = 3

    @Test(
      .enabled(if: TestCluster.soakMinutes != nil, "FEEDSTORE_SOAK_MINUTES says no time; see make soak")
    )
    func `members join, leave, hang and crash for a long time`() async throws {
      let end = ContinuousClock.now + .seconds(60 * (TestCluster.soakMinutes ?? 0))
      try await BrokerRun.on("soak") { run in
        var random = SplitMix64(seed: run.seed)
        var counts: [String: Int] = [:]
        run.load.start()
        var members = try (0..<Self.members).map { _ in try run.start() }
        try await run.waitForRecords(of: members)
        let brokerFaults = TestCluster.restartCommand == nil ? [] : ["restart of the brokers"]
        while ContinuousClock.now < end {
          try await run.waitForRecords(1 + random.below(2_000))
          let fault = random.pick(["kill", "stop", "hang", "join", "leave", "pause"] + brokerFaults)
          counts[fault, default: 0] += 1
          let number = random.below(members.count)
          switch fault {
          case "kill":
            try await run.kill(members.remove(at: number))
            members.append(try run.start())
          case "stop":
            try await run.stop(members.remove(at: number))
            members.append(try run.start())
          case "hang":
            let heirs = members.filter { $0 !== members[number] }
            members[number].suspend()
            if !heirs.isEmpty { try await run.waitForRecords(1 + random.below(4_000)) }
            members[number].resume()
          case "join":
            if members.count <= Self.members { members.append(try run.start()) }
          case "leave":
            if members.count > 1 { try await run.stop(members.remove(at: number)) }
          case "restart of the brokers": try await run.restartBrokers()
          default:
            try await run.settle()
            run.load.start()
          }
        }
        try await run.waitForRecords(of: members)
        print(
          "soak: \(counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))"
        )
      }
    }
  }
}
