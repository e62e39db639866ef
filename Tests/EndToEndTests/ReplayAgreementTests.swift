import Diagnostics
import Feed
import FeedConfiguration
import FeedStatus
import FeedStore
import FeedWorker
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Synchronization
import Testing

@testable import FeedDaemon
@testable import FeedTools

/// The daemon and a replay publish the same for the same records.
struct ReplayAgreementTests {
  @Test func `the daemon publishes the same bytes as a replay`() async throws {
    var ground = try Ground(isOneInput: true)
    defer { ground.cluster.stop() }
    // Windows of a fixed number of records are the same for both.
    ground.configuration.store.coalescing.maxRecords = 400
    let lines = DemoHistory.lines.map { $0.replacing("feeds.sections", with: "feeds.items") }

    let published = try await ground.publish(lines)
    #expect(published.records == lines.count)
    #expect(published.isComplete)
    let start = WallClock.milliseconds()
    let report = try await ground.runDaemon(applying: lines.count)
    #expect(report.counters.records == lines.count)
    #expect(report.feeds.count == 5)

    let expected = try await ReplayedOutput(lines, ground.configuration.store)
    let changesets = try ground.contents(of: "feeds.changesets", partitions: 1)
    #expect(changesets.map(\.keyText) == expected.changesets.map(\.keyText))
    // An epoch contains the time at which the daemon received its record, so it changes whenever offsets begin again.
    let first = try #require(
      changesets[0].valueText?.firstMatch(of: /"epoch":"feeds.items:([0-9]+)\/[0-9]+"/)
    )
    #expect((start...WallClock.milliseconds()).contains(Int64(first.1) ?? 0))
    #expect(
      changesets.map { $0.valueText?.withoutEpochTimes }
        == expected.changesets.map { $0.valueText?.withoutEpochTimes }
    )
    #expect(
      changesets.map { $0.headers.mapValues(\.withoutEpochTimes) }
        == expected.changesets.map { $0.headers.mapValues(\.withoutEpochTimes) }
    )
    #expect(changesets.map(\.timestamp) == expected.changesets.map(\.timestamp))
    #expect(changesets.contains { $0.value == nil }, "a feed was deleted")
    let rejected = try ground.contents(of: "feeds.rejected", partitions: 1)
    #expect(rejected.map(\.valueText) == expected.rejected.map(\.valueText))
    #expect(rejected.map(\.headers) == expected.rejected.map(\.headers))
  }

  @Test func `an aborted flush is repeated, and records are neither applied twice nor skipped`()
    async throws
  {
    var ground = try Ground(isOneInput: true)
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.maxRecords = 400
    let lines = DemoHistory.lines.prefix(3_200).map { $0.replacing("feeds.sections", with: "feeds.items") }
    _ = try await ground.publish(lines)
    try ground.cluster.pushRequestErrors(.txnOffsetCommit, [.illegalGeneration])

    let stop = StopRequest()
    let warnings = Mutex<[String]>([])
    let log = Log(
      level: .warning,
      output: DiagnosticOutput(isTerminal: false) { line in warnings.withLock { $0.append(line) } }
    )
    let daemon = Daemon(ground.configuration, stop: stop, log: log) { event in
      if case .committed(let counters) = event, counters.records >= lines.count { stop.request() }
    }
    let report = try await daemon.run()
    #expect(warnings.withLock { lines in lines.contains { $0.contains("event=transaction.aborted") } })
    // The embedded cluster does not hide records of aborted transactions, so the store is compared.
    let expected = try await ReplayedOutput(lines, ground.configuration.store)
    #expect(report.counters.records == lines.count)
    #expect(report.counters.flushes == 8)
    #expect(report.counters.rejectedRecords == expected.rejected.count)
    #expect(report.feeds == expected.feeds)
  }
}
