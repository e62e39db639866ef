import ChangesetTestSupport
import Diagnostics
import Feed
import FeedConfiguration
import FeedDaemon
import FeedStore
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Synchronization
import Testing

@testable import FeedKafka
@testable import FeedStatus

/// The embedded cluster ignores transactional offsets, so a second daemon reads its input from the beginning, and skips
/// records that were published.
struct RestoreTests {
  /// Without deletions: a deleted feed would pass through its states again.
  private static func records(_ range: Range<Int>) -> [TopicRecord] {
    range.flatMap { number -> [TopicRecord] in
      (0..<3).map { feed in
        let item = "i\(number % 40)"
        return TopicRecord(
          partition: Int32(feed % 2),
          timestamp: 1_795_168_800_000 + Int64(number),
          "feed-\(feed)",
          """
          {"op":"item.upsert","item":"\(item)","section":"s\(number % 3)","kind":"k",\
          "data":{"n":\(number)},"at":"first"}
          """
        )
      }
    }
  }

  private let ground: Ground

  init() throws {
    var ground = try Ground(partitions: 2)
    ground.configuration.store.coalescing.maxRecords = 30
    ground.configuration.store.keyframe.maxDeltas = 5
    self.ground = ground
  }

  @Test func `a daemon continues where the previous one ended`() async throws {
    let first = Self.records(0..<100)
    try ground.produce(first, to: "feeds.items")
    let before = try await ground.runDaemon(applying: first.count)
    #expect(before.feeds.map(\.feed) == ["feed-0", "feed-2", "feed-1"])
    let published = try ground.contents(of: "feeds.changesets", partitions: 2)

    let events = Mutex<[DaemonEvent]>([])
    let again = try await ground.runDaemon(applying: first.count) { event in
      events.withLock { $0.append(event) }
    }
    #expect(again.feeds == before.feeds)
    #expect(again.counters.noOps == [.alreadyApplied: first.count])
    #expect(again.counters.publishedChangesets == 0)
    #expect(try ground.contents(of: "feeds.changesets", partitions: 2) == published)
    let told = events.withLock { $0 }
    #expect(told.first == .assigned(partitions: 4))
    #expect(Self.restored(told) == 4)
    #expect(told.count { $0 == .running } == 1)

    // Records for a new feed, and more for existing ones.
    let more = Self.records(100..<160)
    try ground.produce(more, to: "feeds.items")
    let after = try await ground.runDaemon(applying: first.count + more.count)
    #expect(after.counters.noOps == [.alreadyApplied: first.count])
    let contents = try ground.contents(of: "feeds.changesets", partitions: 2)
    #expect(contents.count > published.count)
    let replicas = try Self.follow(contents)
    #expect(replicas.map(\.feed) == after.feeds.map(\.feed))
    for (replica, feed) in zip(replicas, after.feeds) {
      #expect(replica.revision == feed.revision)
      #expect(replica.checksum == feed.checksum)
      #expect(replica.itemCount == feed.itemCount)
    }
    for feed in after.feeds {
      let earlier = try #require(before.feeds.first { $0.feed == feed.feed })
      #expect(feed.revision > earlier.revision)
    }
  }

  /// The number of input partitions whose feeds were restored.
  private static func restored(_ events: [DaemonEvent]) -> Int {
    events.reduce(0) { if case .restored(let partitions, _) = $1 { $0 + partitions } else { $0 } }
  }

  /// The state of a continuous follower, which must not meet a gap.
  private static func follow(_ records: [TopicRecord]) throws -> [Replica] {
    var partitions: [Int32: ReplicaPartition] = [:]
    for record in records {
      let replicas = partitions[record.partition] ?? ReplicaPartition()
      partitions[record.partition] = replicas
      switch try replicas.apply(record.key ?? [], record.value) {
      case .applied, .skipped: break
      case let other: Issue.record("a follower in step met \(other)")
      }
    }
    return partitions.sorted { $0.key < $1.key }.flatMap(\.value.replicas)
  }

  @Test func `feeds that return after a rebalance are unchanged`() async throws {
    let records = Self.records(0..<50)
    try ground.produce(records, to: "feeds.items")

    let stop = StopRequest()
    let (events, continuation) = AsyncStream<DaemonEvent>.makeStream()
    async let first = ground.daemon(stop: stop) { continuation.yield($0) }.run()
    var iterator = events.makeAsyncIterator()
    var received = 0
    while received < records.count, let event = await iterator.next() {
      if case .received(let count) = event { received += count }
    }
    // Another daemon joins, and leaves again.
    let stopSecond = StopRequest()
    let report = try await ground.daemon(stop: stopSecond) { event in
      if case .restored(let partitions, _) = event, partitions > 0 { stopSecond.request() }
    }.run()
    #expect(!report.feeds.isEmpty, "its feeds were restored")

    // The first daemon has the moved partitions again, and the others were not restored again.
    var told: [DaemonEvent] = []
    var isReleased = false
    while let event = await iterator.next() {
      told.append(event)
      if event == .released { isReleased = true }
      if isReleased, case .restored(_, let feeds) = event, feeds == 3 { break }
    }
    #expect(Self.restored(told) == 2, "one partition of both inputs: \(told)")
    #expect(told.count { $0 == .released } == 1)
    stop.request()
    let last = try await first
    let replicas = try Self.follow(try ground.contents(of: "feeds.changesets", partitions: 2))
    #expect(replicas.map(\.feed) == last.feeds.map(\.feed))
    #expect(replicas.map(\.revision) == last.feeds.map(\.revision))
    #expect(replicas.map(\.checksum) == last.feeds.map(\.checksum))
  }

  /// A partition of the changesets topic that cannot be restored, and the expected log line.
  struct Damage: Sendable, CustomTestStringConvertible {
    let name: String
    /// A record from another producer after the only changeset of `feed-1`, which has this epoch.
    let record: @Sendable (_ epoch: String) -> (key: String, value: String)
    /// The beginning of the reason in the log.
    let reason: String

    var testDescription: String { name }

    /// A changeset from revision 1 to 2 without changes.
    static func delta(_ feed: String, _ epoch: String, parts: String = "") -> (key: String, value: String) {
      let value = """
        {"feed":"\(feed)","epoch":"\(epoch)","revision":2,"base":1\(parts),"mode":"diff",\
        "time":"2026-01-01T00:00:00.000Z","through":{},"checksum":"00000000"}
        """
      return ("d1/\(feed)", value)
    }
  }

  @Test(arguments: [
    Damage(
      name: "no record",
      record: { _ in ("k0/feed-1", #"{"feed":"#) },
      reason: "the value is not JSON"
    ),
    Damage(
      name: "no base",
      record: { Damage.delta("other", $0) },
      reason: #"feed \"other\" has changes"#
    ),
    Damage(
      name: "wrong checksum",
      record: { Damage.delta("feed-1", $0) },
      reason: #"feed \"feed-1\" revision 2: the checksum is "#
    ),
    Damage(
      name: "a part is missing",
      record: { Damage.delta("feed-1", $0, parts: #","part":0,"parts":2"#) },
      reason: #"feed \"feed-1\" has 1 of the 2 parts of revision 2"#
    ),
  ])
  func `a partition that cannot be restored is stopped, with the position, and others continue`(
    damage: Damage
  ) async throws {
    let before = try await Self.prepare(ground, damage)
    try ground.produce(Self.records(1..<2), to: "feeds.items")

    let lines = Mutex<[String]>([])
    let events = Mutex<[DaemonEvent]>([])
    // Of three feeds, two are in the other partition, with two records each.
    let expected = 4
    @Sendable func received(_ events: [DaemonEvent]) -> Int {
      events.reduce(0) { if case .received(let count) = $1 { $0 + count } else { $0 } }
    }
    let stop = StopRequest()
    let report = try await ground.daemon(
      stop: stop,
      log: Ground.log(.error) { line in lines.withLock { $0.append(line) } }
    ) { event in
      events.withLock {
        $0.append(event)
        // The other partitions are processed before all of this one is read.
        if received($0) >= expected, $0.contains(.stopped(partition: 1)) { stop.request() }
      }
    }.run()

    #expect(events.withLock { $0.filter { $0 == .stopped(partition: 1) } }.count == 1)
    let received = received(events.withLock(\.self))
    #expect(received == expected, "nothing is read of the partition")
    #expect(report.feeds.map(\.feed) == ["feed-0", "feed-2"])
    #expect(report.feeds.allSatisfy { $0.revision == 2 })
    let line = try #require(lines.withLock { $0.first { $0.contains("event=partition.stopped") } })
    let after = try ground.contents(of: "feeds.changesets", partitions: 2)
    let damaged = try #require(after.last { $0.partition == 1 }).offset
    #expect(line.contains("feeds.changesets [1], offset \(damaged): \(damage.reason)"), "\(line)")
    #expect(line.contains("topics.changesets"), "the remedy is named: \(line)")
    // Nothing was published there, and other partitions were not affected.
    #expect(after.count { $0.partition == 1 } == 2)
    #expect(after.count { $0.partition == 0 } == before.count { $0.partition == 0 } + 2)
  }

  @Test func `a stopped partition stays stopped after a slow transaction`() async throws {
    let damage = Damage(name: "no record", record: { _ in ("k0/feed-1", "{") }, reason: "")
    _ = try await Self.prepare(ground, damage)
    let received = Mutex(0)
    let commits = AsyncStream<Void>.makeStream()
    let cluster = ground.cluster
    // The window ends with its thirtieth record. By then the cluster answers slowly, so that the group is polled within
    // the transaction, with everything paused.
    async let end = ground.runDaemon(applying: 34) { event in
      switch event {
      case .received(let count):
        let (before, total) = received.withLock { sum in
          sum += count
          return (sum - count, sum)
        }
        if before < 30, total >= 30 {
          #expect(throws: Never.self) { try cluster.setRoundTrip(nil, milliseconds: 1_200) }
        }
      case .committed: commits.continuation.yield()
      default: break
      }
    }
    // With the two existing ones, thirty records of the other partition.
    try ground.produce(Self.records(1..<15), to: "feeds.items")
    var commit = commits.stream.makeAsyncIterator()
    await commit.next()
    try cluster.setRoundTrip(nil, milliseconds: 0)
    try ground.produce(Self.records(15..<17), to: "feeds.items")
    let report = try await end
    #expect(report.feeds.map(\.feed) == ["feed-0", "feed-2"])
    #expect(try ground.contents(of: "feeds.changesets", partitions: 2).count { $0.partition == 1 } == 2)
  }

  /// Makes a daemon publish the first changeset of each feed, and damages partition 1.
  ///
  /// - Returns: the changesets before the damage, of which partition 1 has one.
  private static func prepare(_ ground: Ground, _ damage: Damage) async throws -> [TopicRecord] {
    let good = records(0..<1)
    try ground.produce(good, to: "feeds.items")
    let report = try await ground.runDaemon(applying: good.count)
    #expect(report.feeds.map(\.revision) == [1, 1, 1])
    let changesets = try ground.contents(of: "feeds.changesets", partitions: 2)
    #expect(changesets.count { $0.partition == 1 } == 1)
    let changeset = try #require(changesets.first { $0.partition == 1 })
    let text = String(decoding: changeset.value ?? [], as: UTF8.self)
    let epoch = try #require(text.firstMatch(of: /"epoch":"([^"]+)"/)).output.1
    let record = damage.record(String(epoch))
    try ground.produce([TopicRecord(partition: 1, record.key, record.value)], to: "feeds.changesets")
    return changesets
  }
}
