import FeedTransactions
import ObservationSupport
import Oracle
import ProcessSupport
import Testing

extension OnCluster {
  /// Crashes at every critical point.
  @Suite(.serialized) struct CrashPointTests {
    @Test(arguments: CrashInjection.Point.allCases)
    func `a crash within the work loses and repeats nothing`(point: CrashInjection.Point) async throws {
      try await BrokerRun.on("crash-\(point.rawValue)") { run in
        var random = SplitMix64(seed: run.seed)
        // A restore happens only if something was published before.
        if point == .inRestore {
          run.load.start()
          let first = try run.start()
          try await run.waitForRecords(100)
          try await run.stop(first)
        }
        let times = point == .inRestore ? 1 + random.below(3) : 1 + random.below(40)
        let doomed = try run.start(crash: "\(point.rawValue):\(times)")
        run.load.start()
        try await run.waitForEnd(of: doomed)
        try BrokerFailure.check(doomed.end == .killed(signal: 9), "\(doomed.name): \(doomed.endText)")
        let heir = try run.start()
        try await run.waitForRecords(of: [heir])
        try await run.waitForRecords(100)
      }
    }
  }
}
