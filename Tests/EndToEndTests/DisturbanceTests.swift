import Diagnostics
import Feed
import FeedConfiguration
import FeedStore
import FeedTransactions
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Settings
import Synchronization
import Testing

@testable import FeedDaemon
@testable import FeedKafka
@testable import FeedStatus
@testable import FeedTools

/// Brokers that fail, return, move or are slow, and limits that are reached.
struct DisturbanceTests {
  private static let lines = DemoHistory.lines.prefix(400).map {
    $0.replacing("feeds.sections", with: "feeds.items")
  }

  private static func ground(partitions: Int32 = 1, brokers: Int = 1) throws -> Ground {
    var ground = try Ground(partitions: partitions, isOneInput: true, brokers: brokers)
    ground.configuration.store.coalescing.maxRecords = 100
    return ground
  }

  /// With the lines published.
  private static func published() async throws -> Ground {
    let ground = try ground()
    _ = try await ground.publish(lines)
    return ground
  }

  /// Runs a daemon over all published lines, and compares its feeds with those of a replay.
  @discardableResult
  private func check(
    _ ground: Ground,
    log: Log = Ground.quiet,
    reportsAreLate: Bool = false,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void = { _ in }
  ) async throws -> FaultRun {
    let run = FaultRun(records: Self.lines.count)
    let daemon = Self.daemon(ground, run, log: log, reportsAreLate: reportsAreLate, onEvent: onEvent)
    let report = try await daemon.run()
    let expected = try await ReplayedOutput(Self.lines, ground.configuration.store)
    #expect(report.feeds == expected.feeds)
    return run
  }

  private static func daemon(
    _ ground: Ground,
    _ run: FaultRun,
    log: Log = Ground.quiet,
    reportsAreLate: Bool,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void = { _ in }
  ) -> Daemon {
    var daemon = ground.daemon(stop: run.stop, log: log) { event in
      onEvent(event)
      run.note(event)
    }
    if reportsAreLate { daemon.changeEnvironment = { $0.clients = LateReports() } }
    return daemon
  }

  @Test func `brokers that fail within a transaction are waited for`() async throws {
    let ground = try await Self.published()
    defer { ground.cluster.stop() }
    let isDown = Mutex(false)
    let failures = Mutex(0)
    let log = Ground.log { line in
      guard line.contains("event=transaction.call-failed") else { return }
      failures.withLock { $0 += 1 }
      #expect(throws: Never.self) { try ground.cluster.setBrokerUp(nil) }
    }
    try await check(ground, log: log) { event in
      guard case .committed = event else { return }
      let isFirst = isDown.withLock { isDown in
        defer { isDown = true }
        return !isDown
      }
      if isFirst { #expect(throws: Never.self) { try ground.cluster.setBrokerDown(nil) } }
    }
    #expect(failures.withLock { $0 } > 0)
  }

  @Test func `slow brokers are waited for`() async throws {
    let ground = try await Self.published()
    defer { ground.cluster.stop() }
    try ground.cluster.setRoundTrip(nil, milliseconds: 80)
    #expect(try await check(ground).ways.isEmpty)
  }

  @Test func `a commit with a late response is retried, and nothing is rolled back`() async throws {
    let ground = try await Self.published()
    defer { ground.cluster.stop() }
    try ground.cluster.delayRequest(.endTxn, broker: 1, milliseconds: 6_000)
    let failures = Mutex<[String]>([])
    let log = Ground.log { line in
      if line.contains("call=commit") { failures.withLock { $0.append(line) } }
    }
    #expect(try await check(ground, log: log).ways.isEmpty)
    #expect(failures.withLock { $0.first }?.contains("_TIMED_OUT") == true)
  }

  @Test func `leaders and coordinators that move are followed`() async throws {
    var ground = try Self.ground(brokers: 3)
    defer { ground.cluster.stop() }
    _ = try await ground.publish(Self.lines)
    ground.configuration.kafka.append(ConfigurationPair(name: "transactional.id", value: "moving"))
    let cluster = ground.cluster
    let moves = Mutex<Int32>(0)
    let run = try await check(ground) { event in
      guard case .committed = event else { return }
      let broker = moves.withLock { moves in
        moves += 1
        return moves % 3 + 1
      }
      #expect(throws: Never.self) {
        let partition = TopicPartition(topic: "feeds.changesets", partition: 0)
        try cluster.setLeader(partition, broker: broker)
        try cluster.setCoordinator(.transaction("moving-0"), broker: broker)
        try cluster.setCoordinator(.group("feedstore"), broker: broker)
      }
    }
    #expect(moves.withLock { $0 } >= 4)
    #expect(run.ways.isEmpty)
  }

  @Test func `a full queue is waited for`() async throws {
    var ground = try await Self.published()
    defer { ground.cluster.stop() }
    ground.configuration.kafka.append(
      ConfigurationPair(name: "queue.buffering.max.messages", value: "3")
    )
    #expect(try await check(ground).ways.isEmpty)
  }

  @Test func `a flush in several transactions publishes the same as in one`() async throws {
    var ground = try await Self.published()
    defer { ground.cluster.stop() }
    ground.configuration.maxTransactionBytes = 500
    try await check(ground)
    let expected = try await ReplayedOutput(Self.lines, ground.configuration.store)
    let changesets = try ground.contents(of: "feeds.changesets", partitions: 1)
    func texts(_ records: [TopicRecord]) -> Set<String> {
      Set(records.compactMap { $0.valueText?.withoutEpochTimes })
    }
    #expect(texts(changesets) == texts(expected.changesets))
    #expect(changesets.count == expected.changesets.count)
  }

  @Test(arguments: [false, true])
  func `batches that are too large for a segment are sent again in smaller ones`(
    reportsAreLate: Bool
  ) async throws {
    let ground = try await Self.published()
    defer { ground.cluster.stop() }
    try ground.cluster.pushRequestErrors(.produce, [.recordListTooLarge])
    let sizes = Mutex<[String]>([])
    let log = Ground.log { line in
      guard line.contains("event=transaction.batch-too-large") else { return }
      sizes.withLock { $0.append(line) }
    }
    let run = try await check(ground, log: log, reportsAreLate: reportsAreLate)
    #expect(run.ways == [.withdrawn])
    #expect(sizes.withLock { $0.count } == 1)
    #expect(sizes.withLock { $0.first?.contains("100000") } == true)
  }

  @Test(arguments: [false, true])
  func `a record that is too large for a segment stops the daemon with the reason`(
    reportsAreLate: Bool
  ) async throws {
    let ground = try await Self.published()
    defer { ground.cluster.stop() }
    try ground.cluster.pushRequestErrors(.produce, Array(repeating: .recordListTooLarge, count: 100))
    let run = FaultRun(records: Self.lines.count)
    let thrown = await #expect(throws: DaemonError.self) {
      try await Self.daemon(ground, run, reportsAreLate: reportsAreLate).run()
    }
    #expect(thrown?.message.contains("RECORD_LIST_TOO_LARGE") == true)
    #expect(thrown?.message.contains("segment.bytes") == true)
  }

  struct Refusal: Sendable {
    let request: EmbeddedCluster.RequestKind
    let error: KafkaErrorCode
  }

  @Test(arguments: [
    Refusal(request: .txnOffsetCommit, error: .groupAuthorizationFailed),
    Refusal(request: .initProducerID, error: .transactionalIDAuthorizationFailed),
    Refusal(request: .produce, error: .messageTooLarge),
    Refusal(request: .joinGroup, error: .groupAuthorizationFailed),
    Refusal(request: .fetch, error: .topicAuthorizationFailed),
  ])
  func `an error that requires an operator stops the daemon with the reason`(refusal: Refusal) async throws {
    let ground = try await Self.published()
    defer { ground.cluster.stop() }
    try ground.cluster.pushRequestErrors(refusal.request, Array(repeating: refusal.error, count: 5))
    let run = FaultRun(records: Self.lines.count)
    let thrown = await #expect(throws: DaemonError.self) {
      try await ground.daemon(stop: run.stop) { run.note($0) }.run()
    }
    #expect(thrown?.code == .kafka)
    #expect(thrown?.message.contains("\(refusal.error)") == true)
    #expect(thrown?.message.contains("restart feedstore") == true)
  }

  @Test
  func `a coordinator that answers later than the first timeout is given more time`()
    async throws
  {
    let ground = try Self.ground(brokers: 2)
    defer { ground.cluster.stop() }
    for topic in ["feeds.items", "feeds.changesets"] {
      try ground.cluster.setLeader(TopicPartition(topic: topic, partition: 0), broker: 1)
    }
    try ground.cluster.setCoordinator(.group("feedstore"), broker: 2)
    _ = try await ground.publish(Self.lines)
    try ground.cluster.setRoundTrip(2, milliseconds: 1_500)
    #expect(try await check(ground).ways.isEmpty)
  }

  @Test func `a record that is rejected while offsets are added stops the daemon with the reason`()
    async throws
  {
    var ground = try Self.ground(brokers: 2)
    defer { ground.cluster.stop() }
    ground.configuration.kafka.append(ConfigurationPair(name: "transactional.id", value: "refused"))
    for topic in ["feeds.items", "feeds.changesets"] {
      try ground.cluster.setLeader(TopicPartition(topic: topic, partition: 0), broker: 1)
    }
    try ground.cluster.setCoordinator(.transaction("refused-0"), broker: 1)
    try ground.cluster.setCoordinator(.group("feedstore"), broker: 2)
    _ = try await ground.publish(Self.lines)
    // The broker with the records answers long before the one with the offsets.
    try ground.cluster.setRoundTrip(2, milliseconds: 1_000)
    try ground.cluster.pushRequestErrors(.produce, [.messageTooLarge])
    let run = FaultRun(records: Self.lines.count)
    let thrown = await #expect(throws: DaemonError.self) {
      try await ground.daemon(stop: run.stop) { run.note($0) }.run()
    }
    #expect(thrown?.message.contains("MSG_SIZE_TOO_LARGE") == true)
    #expect(run.ways.isEmpty)
  }

  @Test func `a rejected record that is too large is truncated and marked as such`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    let value = [UInt8](repeating: UInt8(ascii: "x"), count: 2_000_000)
    let record = TopicRecord(key: Array("large".utf8), value: value)
    try ground.produce([record, TopicRecord("small", "x")], to: "feeds.items")
    _ = try await ground.runDaemon(applying: 2)
    let rejected = try ground.contents(of: "feeds.rejected", partitions: 1)
    #expect(rejected.map(\.keyText) == ["large", "small"])
    let cut = try #require(rejected.first)
    let length = try #require(cut.value?.count)
    #expect(length < TopicRequirements.usualMessageBytes)
    #expect(length > TopicRequirements.usualMessageBytes - 2_000)
    #expect(cut.value == Array(value.prefix(length)))
    #expect(cut.headers["feedstore.value.truncated"] == "2000000")
    #expect(cut.headers["feedstore.key.truncated"] == nil)
    #expect(rejected.last?.value == Array("x".utf8))
    #expect(rejected.last?.headers["feedstore.value.truncated"] == nil)
  }

  @Test func `workers share the partitions, and together have all feeds`() async throws {
    var ground = try Ground(partitions: 4)
    defer { ground.cluster.stop() }
    ground.configuration.workers = 2
    ground.configuration.store.coalescing.maxRecords = 1
    let records = (0..<20).map { number in
      TopicRecord(
        partition: Int32(number % 4),
        "feed-\(number)",
        "{\"op\":\"section.upsert\",\"section\":\"s\"}"
      )
    }
    try ground.produce(records, to: "feeds.items")
    let stop = StopRequest()
    // Each worker reports what it has committed since its start.
    let assigned = Mutex<Set<Int>>([])
    let committed = Mutex(0)
    let report = try await ground.daemon(stop: stop) { event in
      switch event {
      case .assigned(let partitions): assigned.withLock { _ = $0.insert(partitions) }
      case .committed:
        let count = committed.withLock { count in
          count += 1
          return count
        }
        if count == records.count { stop.request() }
      default: break
      }
    }.run()
    #expect(report.feeds.map(\.feed).sorted() == records.compactMap(\.keyText).sorted())
    #expect(report.feeds.map(\.partition) == report.feeds.map(\.partition).sorted())
    #expect(report.counters.publishedChangesets == records.count)
    #expect(assigned.withLock { $0 }.contains(4), "half of the two topics' eight")
  }

  @Test func `a worker that fails stops the others`() async throws {
    var ground = try Ground(partitions: 2)
    defer { ground.cluster.stop() }
    ground.configuration.workers = 2
    try ground.cluster.pushRequestErrors(.initProducerID, [.transactionalIDAuthorizationFailed])
    let error = await #expect(throws: DaemonError.self) {
      try await ground.daemon(stop: StopRequest()) { _ in }.run()
    }
    #expect(error?.message.contains("TRANSACTIONAL_ID_AUTHORIZATION_FAILED") == true)
  }

  @Test func `within a slow transaction, the worker learns that its partitions were lost`() async throws {
    var ground = try Self.ground(partitions: 2, brokers: 2)
    defer { ground.cluster.stop() }
    try ground.cluster.setCoordinator(.group("feedstore"), broker: 1)
    for topic in ground.configuration.store.topics.distinct {
      for partition in 0..<Int32(topic == ground.configuration.store.topics.rejected ? 1 : 2) {
        try ground.cluster.setLeader(TopicPartition(topic: topic, partition: partition), broker: 1)
      }
    }
    _ = try await ground.publish(Self.lines)
    let second = ground.configuration
    ground.configuration.kafka.append(ConfigurationPair(name: "transactional.id", value: "slow"))
    let (cluster, slow) = (ground.cluster, ground)
    try cluster.setCoordinator(.transaction("slow-0"), broker: 2)

    // The coordinator fails before the first transaction, and returns for the other daemon.
    let isDown = Mutex(false)
    let isReading = AsyncStream<DaemonEvent>.makeStream()
    let run = FaultRun(records: Self.lines.count)
    async let first = slow.daemon(stop: run.stop) { event in
      isReading.continuation.yield(event)
      run.note(event)
      guard case .received = event else { return }
      let isFirst = isDown.withLock { isDown in
        defer { isDown = true }
        return !isDown
      }
      if isFirst { #expect(throws: Never.self) { try cluster.setBrokerDown(2) } }
    }.run()
    var events = isReading.stream.makeAsyncIterator()
    while let event = await events.next() {
      if case .received = event { break }
    }
    let stopSecond = StopRequest()
    async let other = Daemon(second, stop: stopSecond, log: Ground.quiet) { event in
      if case .assigned(let count) = event, count > 0 { stopSecond.request() }
    }.run()
    var told: [DaemonEvent] = []
    while let event = await events.next() {
      told.append(event)
      if event == .released { break }
    }
    #expect(!told.contains { if case .committed = $0 { true } else { false } })
    try cluster.setBrokerUp(2)
    _ = try await other
    _ = try await first
  }

  @Test func `lost partitions are not published until they are restored`() async throws {
    var ground = try Self.ground()
    defer { ground.cluster.stop() }
    // The window stays open until the group has removed the member.
    ground.configuration.store.coalescing.maxRecords = Self.lines.count
    _ = try await ground.publish(Array(Self.lines.dropLast(100)))
    let (cluster, published, running) = (ground.cluster, ground, ground)
    let events = AsyncStream<DaemonEvent>.makeStream()
    let lines = Mutex<[String]>([])
    let stop = StopRequest()
    async let end = running.daemon(
      stop: stop,
      log: Ground.log { line in lines.withLock { $0.append(line) } }
    ) { events.continuation.yield($0) }.run()

    var told = events.stream.makeAsyncIterator()
    while let event = await told.next() {
      if case .received = event { break }
    }
    try cluster.pushRequestErrors(.heartbeat, [.unknownMember])
    var isReleased = false
    while let event = await told.next() {
      if case .committed = event { Issue.record("what waits was published") }
      if event == .released { isReleased = true }
      if event == .running { break }
    }
    #expect(isReleased)
    #expect(lines.withLock { $0.contains { $0.contains("event=group.lost") } })
    #expect(try published.contents(of: "feeds.changesets", partitions: 1).isEmpty)

    _ = try await published.publish(Array(Self.lines.suffix(100)))
    while let event = await told.next() {
      if case .committed(let counters) = event, counters.records >= Self.lines.count { break }
    }
    stop.request()
    let expected = try await ReplayedOutput(Self.lines, ground.configuration.store)
    #expect(try await end.feeds == expected.feeds)
  }
}
