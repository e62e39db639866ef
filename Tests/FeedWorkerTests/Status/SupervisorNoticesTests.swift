import FeedStore
import Kafka
import Testing

@testable import FeedStatus

@Suite struct SupervisorNoticesTests {
  private static func health(_ phase: WorkerPhase, silence: Int64 = 0) -> DaemonHealth {
    var statistics = WorkerStatistics()
    statistics.phase = phase
    let worker = (number: 0, silence: silence, statistics: statistics)
    return DaemonHealth([worker], longestSilence: 1_000, isStopping: false)
  }

  @Test func `the manager is asked for time until the daemon is ready, which is told once`() {
    var notices = SupervisorNotices(watchdogMilliseconds: nil)
    func next(_ phase: WorkerPhase, _ status: String, isStopping: Bool = false) -> [String] {
      notices.next(Self.health(phase), status: status, isStopping: isStopping, at: 0)
    }
    #expect(next(.joining, "a") == ["EXTEND_TIMEOUT_USEC=30000000", "STATUS=a"])
    #expect(next(.restoring, "a") == ["EXTEND_TIMEOUT_USEC=30000000"])
    #expect(next(.running, "b") == ["READY=1", "STATUS=b"])
    #expect(next(.running, "b") == [])
    #expect(next(.restoring, "c") == ["STATUS=c"])
    #expect(next(.running, "b", isStopping: true) == ["STOPPING=1", "STATUS=b"])
    #expect(next(.running, "b", isStopping: true) == [])
  }

  @Test func `the watchdog hears of the daemon as long as it lives`() {
    var notices = SupervisorNotices(watchdogMilliseconds: 500)
    func next(_ now: Int64, silence: Int64 = 0) -> [String] {
      notices.next(Self.health(.running, silence: silence), status: "", isStopping: false, at: now)
    }
    #expect(next(0) == ["READY=1", "WATCHDOG=1"])
    #expect(next(499) == [])
    #expect(next(500) == ["WATCHDOG=1"])
    #expect(next(2_000, silence: 1_001) == [])
    #expect(next(2_100) == ["WATCHDOG=1"])
  }

  @Test func `a hanging start is not given more time`() {
    var notices = SupervisorNotices(watchdogMilliseconds: nil)
    #expect(notices.next(Self.health(.joining, silence: 1_001), status: "", isStopping: false, at: 0) == [])
  }

  @Test func `the status line says what there is`() {
    var statistics = WorkerStatistics()
    statistics.partitions = [0, 1]
    statistics.content.feeds = 1_200
    #expect(SupervisorNotices.status(Self.health(.running), statistics) == "2 partitions, 1,200 feeds")
    statistics.stopped = [1]
    statistics.inputLag = [.init(topic: "feeds.items", partition: 0): 3_000]
    #expect(
      SupervisorNotices.status(Self.health(.running), statistics)
        == "2 partitions, 1,200 feeds, 1 stopped, 3,000 records behind"
    )
    #expect(
      SupervisorNotices.status(Self.health(.joining), statistics)
        == "worker 0 waits for its share of the partitions"
    )
  }
}
