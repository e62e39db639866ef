import ObservationSupport
import Oracle
import Testing

extension OnCluster {
  /// Followers and daemons that start late on a topic while it is compacted.
  @Suite(.serialized) struct LateJoinerTests {
    /// The cleaner has its own pace. If it does nothing in time, the test reports this and passes.
    private static let mostJoiners = 25

    @Test func `a late joiner reads the topic while it is written and compacted`() async throws {
      var options = RunOptions()
      options.compaction = [
        "segment.ms": "1000", "segment.bytes": "100000", "min.cleanable.dirty.ratio": "0.01",
        // The observer, which expects every record, is rarely this far behind.
        "min.compaction.lag.ms": "20000",
      ]
      try await BrokerRun.on("late", options) { run in
        run.load.start()
        let first = try run.start()
        var found: [LateJoiner] = []
        for _ in 0..<Self.mostJoiners {
          try await run.waitForRecords(300)
          let least = run.observer.observation.records - run.observer.observation.rejected.count
          let joiner = try await run.onThread { try LateJoiner(run.topics) }
          found.append(joiner)
          if joiner.records < least * 3 / 4 { break }
        }
        // A daemon that restores feeds is a late joiner as well.
        try await run.kill(first)
        let heir = try run.start()
        try await run.waitForRecords(of: [heir])
        try await run.settle()
        let last = try await run.onThread { try LateJoiner(run.topics) }
        let oracle = try await run.onThread { try InputOracle(run.topics) }
        var complaints = oracle.complaints(about: last.feeds.mapValues(\.feed))
        complaints += (found + [last]).flatMap(\.claims).compactMap { oracle.complaint(about: $0) }
        try BrokerFailure.check(complaints.isEmpty, complaints.prefix(10).joined(separator: "\n"))
        let written = run.observer.observation.records - run.observer.observation.rejected.count
        print("late: \(found.count) joiners; the last read \(last.records) of \(written) records")
      }
    }
  }
}
