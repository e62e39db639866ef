import FeedStore
import FeedWorker
import Service
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedDaemon
@testable import FeedTools

struct DemoTests {
  @Test func `at the end of the demo, the replicas equal the store`() async throws {
    let lines = Mutex<[String]>([])
    let demo = Demo(FeedStoreConfiguration(), speed: 1_000_000, stop: StopRequest(), log: Ground.quiet) {
      line in
      lines.withLock { $0.append(line) }
    }
    let report = try await demo.run()
    #expect(report.isSame, "\(report.text)")
    #expect(report.comparison.rows.count == 5)
    #expect(report.daemon.counters.records == DemoHistory.lines.count)
    #expect(lines.withLock { lines in lines.contains { $0.contains("rejected") } })
    #expect(report.text.contains("The follower's replicas are the store's feeds"))
  }
}
