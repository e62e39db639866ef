import Testing

@testable import FeedKafka
@testable import FeedStatus
@testable import FeedWorker

@Suite struct DaemonHealthTests {
  private static func worker(
    _ phase: WorkerPhase,
    number: Int = 0,
    partitions: Set<Int32> = [0, 1],
    stopped: Set<Int32> = [],
    silence: Int64 = 0
  ) -> DaemonHealth.Worker {
    var statistics = WorkerStatistics()
    statistics.phase = phase
    statistics.partitions = partitions
    statistics.stopped = stopped
    statistics.restore.read(records: 0, bytes: 0, remaining: 12)
    return (number, silence, statistics)
  }

  private static func health(_ workers: DaemonHealth.Worker..., isStopping: Bool = false) -> DaemonHealth {
    DaemonHealth(workers, longestSilence: 1_000, isStopping: isStopping)
  }

  @Test(arguments: [WorkerPhase.starting, .joining, .restoring])
  func `a daemon is ready when every worker is`(phase: WorkerPhase) {
    let health = Self.health(Self.worker(.running), Self.worker(phase, number: 1))
    #expect(health.isLive && !health.isReady && !health.isStarted)
    #expect(health.obstacles.map(\.code) == [phase.rawValue])
    #expect(health.obstacles.map(\.worker) == [1])
    #expect(Self.health(Self.worker(.running), Self.worker(.running, partitions: [])).isReady)
  }

  @Test func `what is left to restore is told`() {
    #expect(
      Self.health(Self.worker(.restoring)).obstacles.first?.detail
        == "worker 0 restores the feeds of 2 partitions; 12 records remain"
    )
  }

  @Test func `with a partition that is stopped it has started, and is not ready`() {
    let health = Self.health(Self.worker(.running, stopped: [1]))
    #expect(!health.isReady && health.isStarted && health.isLive)
    #expect(
      health.obstacles.first?.detail
        == "worker 0 could not restore the feeds of partition 1; the log says why"
    )
    let many = Self.health(Self.worker(.running, stopped: Set(0..<12)))
    #expect(
      many.obstacles.first?.detail.contains("partitions 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more") == true
    )
  }

  @Test func `it does not live when a worker stays away from its loop`() {
    let health = Self.health(
      Self.worker(.running, silence: 1_000),
      Self.worker(.running, number: 1, silence: 2_500)
    )
    #expect(!health.isLive)
    #expect(health.deaths.map(\.detail) == ["worker 1 has not returned to its loop for 2 s"])
    #expect(health.isReady)
  }

  @Test func `it is not ready while topics have other partitions than at its start`() {
    let change = TopicChanges.Change(topic: "feeds.items", before: 1, after: 4, remedy: "restart it")
    let health = DaemonHealth(
      [Self.worker(.running)],
      topics: [change],
      longestSilence: 1_000,
      isStopping: false
    )
    #expect(!health.isReady && health.isStarted && health.isLive)
    #expect(health.obstacles.map(\.code) == ["partitions-changed"])
    #expect(health.obstacles.map(\.worker) == [nil])
    #expect(
      health.obstacles.map(\.detail) == ["topic feeds.items had 1 partition and has 4 now: restart it"]
    )
  }

  @Test func `it is not ready while feeds are read that it serves, and has started`() {
    var health = Self.health(Self.worker(.running))
    health.noteReading()
    #expect(!health.isReady && health.isStarted && health.isLive)
    #expect(health.obstacles.map(\.code) == ["reading"])
    #expect(health.obstacles.map(\.worker) == [nil])
    // Restoring has precedence.
    var early = Self.health(Self.worker(.restoring))
    early.noteReading()
    #expect(early.obstacles.map(\.code) == ["restoring"])
  }

  @Test func `a failed token for the brokers is named while it is not ready`() {
    var health = Self.health(Self.worker(.starting))
    health.noteBrokerToken()
    #expect(health.obstacles.map(\.code) == ["starting", "broker-token"])
    var ready = Self.health(Self.worker(.running))
    ready.noteBrokerToken()
    #expect(ready.isReady)
  }

  @Test func `it is not ready once it was asked to stop`() {
    let health = Self.health(Self.worker(.running), isStopping: true)
    #expect(health.obstacles.map(\.code) == ["stopping"])
    #expect(health.isLive && !health.isStarted)
  }
}
