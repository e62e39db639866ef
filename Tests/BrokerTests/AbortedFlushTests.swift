import FeedStore
import Kafka
import ObservationSupport
import Oracle
import Testing

extension OnCluster {
  /// Records on the changesets topic that were never committed.
  @Suite(.serialized) struct AbortedFlushTests {
    @Test func `feeds that are deleted and recreated are correct, and aborted flushes are not visible`()
      async throws
    {
      var options = RunOptions()
      options.generator.feedCount = 3
      options.generator.nullPercent = 15
      options.generator.weights[.feedReplace] = 10
      // Records are sent at once, so that more of them are on the topic when a transaction is not committed.
      options.settings["kafka.linger.ms"] = "0"
      try await BrokerRun.on("aborted", options) { run in
        var random = SplitMix64(seed: run.seed)
        run.load.start()
        let outputs = run.topics.all([run.topics.names.changesets])
        for _ in 0..<3 {
          // The offsets are added after the records were sent, and the commit never happens.
          let doomed = try run.start(crash: "after-offsets:\(10 + random.below(40))")
          try await run.waitForEnd(of: doomed)
          // A visible aborted record would stop every follower.
          try await run.onThread {
            try ForeignTransaction(run.topics, outputs, key: "no key", value: "no changeset")
              .end(isCommitted: false)
          }
        }
        let heir = try run.start()
        try await run.waitForRecords(of: [heir])
        let before = run.observer.observation.deletions
        try await run.wait("feeds that are deleted") { $0.deletions > before + 20 }
        try await run.settle()
        let seen = run.observer.observation.records
        let names = [run.topics.names.changesets, run.topics.names.rejected]
        let all = try await run.onThread {
          try TopicReader.contents(run.topics, names, isolation: .readUncommitted).records.count
        }
        try BrokerFailure.check(
          all >= seen + 3 * outputs.count,
          "nothing was aborted: \(all) records, and \(seen) of them seen"
        )
        print("aborted: \(all - seen - 3 * outputs.count) records of the daemons' own")
      }
    }
  }
}
