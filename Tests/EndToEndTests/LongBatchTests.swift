import Feed
import FeedConfiguration
import FeedStore
import FeedTransactions
import Glibc
import Kafka
import ObservationSupport
import OperatingSystem
import Settings
import Synchronization
import Testing

@testable import FeedDaemon
@testable import FeedStatus
@testable import FeedTools

/// Batches that take longer to apply than the maximum time between two polls.
struct LongBatchTests {
  private static let lines = DemoHistory.lines.prefix(120).map {
    $0.replacing("feeds.sections", with: "feeds.items")
  }

  /// A member that must poll every 8 s, so that a stall of some seconds does not end its membership. librdkafka
  /// requires a session of at most that, and the first join on the embedded cluster takes 3 s.
  private static func ground(partitions: Int32 = 1) throws -> Ground {
    var ground = try Ground(partitions: partitions, isOneInput: true)
    ground.configuration.kafka += [
      ConfigurationPair(name: "session.timeout.ms", value: "8000"),
      ConfigurationPair(name: "max.poll.interval.ms", value: "8000"),
    ]
    return ground
  }

  /// Milliseconds for each record: the batch of 120 takes more than 8 s.
  private static let recordMilliseconds: Int32 = 90

  /// A clock that delays each record: it is read before each one, and sleeps for that long.
  private static let slowClock: @Sendable () -> Int64 = {
    _ = poll(nil, 0, recordMilliseconds)
    return MonotonicClock.milliseconds()
  }

  @Test func `a batch longer than the poll interval does not end the membership`() async throws {
    let ground = try Self.ground()
    defer { ground.cluster.stop() }
    _ = try await ground.publish(Self.lines)
    let stop = StopRequest()
    let events = Mutex<[DaemonEvent]>([])
    let received = Mutex(0)
    var daemon = ground.daemon(stop: stop) { event in
      events.withLock { $0.append(event) }
      guard case .received(let count) = event else { return }
      // Usually in one batch. Received records are applied before the daemon stops.
      if received.withLock({
        $0 += count
        return $0
      }) == Self.lines.count {
        stop.request()
      }
    }
    daemon.changeEnvironment = { $0.coarseClock = Self.slowClock }
    let report = try await daemon.run()
    let told = events.withLock(\.self)
    #expect(told.count { if case .assigned = $0 { true } else { false } } == 1, "\(told)")
    #expect(told.count { if case .committed = $0 { true } else { false } } == 1, "\(told)")
    #expect(!told.contains(.withdrawn) && !told.contains(.recovering))
    #expect(report.counters.records == Self.lines.count)
    let expected = try await ReplayedOutput(Array(Self.lines), ground.configuration.store)
    #expect(report.feeds == expected.feeds)
  }

  /// The embedded cluster ignores transactional offsets, so the partition's next owner reads it from the beginning, and
  /// skips published records.
  @Test func `a rebalance within a batch takes the moved partitions, and the others continue`()
    async throws
  {
    let ground = try Self.ground(partitions: 2)
    defer { ground.cluster.stop() }
    _ = try await ground.publish(Self.lines)
    let stop = StopRequest()
    let (events, continuation) = AsyncStream<DaemonEvent>.makeStream()
    var daemon = ground.daemon(stop: stop) { continuation.yield($0) }
    // Increasingly slow, so that the other member can join before everything is applied.
    let looks = Atomic(0)
    let isReleased = Atomic(false)
    let clock: @Sendable () -> Int64 = {
      let pauses = looks.add(1, ordering: .relaxed).newValue < 60 ? 1 : 20
      for _ in 0..<pauses where !isReleased.load(ordering: .relaxed) {
        _ = poll(nil, 0, Self.recordMilliseconds)
      }
      return MonotonicClock.milliseconds()
    }
    daemon.changeEnvironment = { $0.coarseClock = clock }
    async let running = { [daemon] in
      defer { continuation.finish() }
      return try await daemon.run()
    }()
    defer { stop.request() }
    var iterator = events.makeAsyncIterator()
    while let event = await iterator.next() {
      if case .received = event { break }
    }
    // Another member joins while the batch is applied.
    let stopOther = StopRequest()
    async let other = ground.daemon(stop: stopOther) { event in
      if case .assigned(let count) = event, count > 0 { stopOther.request() }
    }.run()
    var publishedAtRelease = 0
    while let event = await iterator.next() {
      if case .committed(let counters) = event { publishedAtRelease = counters.records }
      if event == .released {
        isReleased.store(true, ordering: .relaxed)
        break
      }
    }
    #expect(publishedAtRelease < Self.lines.count, "the batch was interrupted")
    _ = try await other
    // The partition returns, and its owner, which reads everything again, reaches the same state.
    var isBack = false
    while let event = await iterator.next() {
      if case .assigned(let count) = event, count > 0 { isBack = true }
      if isBack, event == .running { break }
    }
    stop.request()
    _ = try await running
    let report = try await ground.runDaemon(applying: Self.lines.count)
    let expected = try await ReplayedOutput(Array(Self.lines), ground.configuration.store)
    #expect(Set(report.feeds.map(\.checksum)) == Set(expected.feeds.map(\.checksum)))
    let changesets = try ground.contents(of: "feeds.changesets", partitions: 2)
    let identifiers = changesets.compactMap { $0.headers["ce_id"] }
    #expect(Set(identifiers).count == identifiers.count, "none twice")
  }
}
