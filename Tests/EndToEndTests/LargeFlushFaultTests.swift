import FeedConfiguration
import FeedDaemon
import FeedStore
import FeedWorker
import Kafka
import Synchronization
import Testing

/// Errors from brokers within a flush of several transactions.
struct LargeFlushFaultTests {
  /// A worker that has lost its partitions must learn it before any part of a flush is published. So every transaction
  /// asks the group, even without offsets to commit.
  @Test func `a group that refuses the worker refuses the first transaction of a flush`() async throws {
    var ground = try Ground(isOneInput: true)
    defer { ground.cluster.stop() }
    // One flush of three feeds, each in its own transaction.
    ground.configuration.store.coalescing.maxRecords = 3
    ground.configuration.maxTransactionBytes = 1
    let lines = ["a", "b", "c"].map { #"{"key":"\#($0)","value":{"op":"section.upsert","section":"s"}}"# }
    _ = try await ground.publish(lines)
    try ground.cluster.pushRequestErrors(.txnOffsetCommit, [.illegalGeneration])

    let running = ground
    let sent = Mutex<[String?]?>(nil)
    let run = FaultRun(records: lines.count)
    let report = try await ground.daemon(stop: run.stop) { event in
      if event == .withdrawn {
        #expect(throws: Never.self) {
          let records = try running.contents(of: "feeds.changesets", partitions: 1)
          sent.withLock { $0 = records.map(\.keyText) }
        }
      }
      run.note(event)
    }.run()
    #expect(run.ways == [.withdrawn])
    // The embedded cluster shows records of aborted transactions, but they need not have been sent.
    let keys = try #require(sent.withLock { $0 })
    #expect(keys == [] || keys == ["k0/a"])
    let expected = try await ReplayedOutput(lines, ground.configuration.store)
    #expect(report.feeds == expected.feeds && report.feeds.count == lines.count)
  }
}
