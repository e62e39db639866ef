import Feed
import FeedStore
import Kafka
import Service
import Synchronization
import Testing

@testable import FeedPipeline

/// The embedded cluster drops transactional offsets, so a second daemon reads its input from the beginning:
/// what was published before counts as applied already.
struct RestoreTests {
  /// Without deletions: a feed that was deleted passes through its states again.
  private static func records(_ range: Range<Int>) -> [StoredRecord] {
    range.flatMap { number -> [StoredRecord] in
      (0..<3).map { feed in
        let item = "i\(number % 40)"
        return StoredRecord(
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

  private static func ground() throws -> Ground {
    var ground = try Ground(partitions: 2)
    ground.configuration.store.coalescing.maxRecords = 30
    ground.configuration.store.keyframe.maxDeltas = 5
    return ground
  }

  @Test func `a daemon goes on where the one before it ended`() async throws {
    let ground = try Self.ground()
    defer { ground.cluster.stop() }
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
    #expect(
      Array(told.prefix(3)) == [
        .assigned(partitions: 4), .restored(partitions: 4, feeds: 3), .running,
      ]
    )

    // A feed that is new, and more for those that are there.
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

  /// What a follower has that was there all the time; it must meet no gap.
  private static func follow(_ records: [StoredRecord]) throws -> [ReplicaSummary] {
    var partitions: [Int32: ReplicaPartition] = [:]
    for record in records {
      let replicas = partitions[record.partition] ?? ReplicaPartition()
      partitions[record.partition] = replicas
      let key = OwnedBytes(record.key)
      let value = OwnedBytes(record.value)
      let outcome = try replicas.apply(
        key: key.bytes.map { ByteSpan($0) } ?? .empty,
        value: value.bytes.map { ByteSpan($0) }
      )
      switch outcome {
      case .applied, .skipped: break
      case let other: Issue.record("a follower in step met \(other)")
      }
    }
    return partitions.sorted { $0.key < $1.key }.flatMap { partition, replicas in
      replicas.replicas.map { ReplicaSummary(partition: partition, $0) }
    }
  }

  @Test func `feeds that come back after a rebalance are what they were`() async throws {
    let ground = try Self.ground()
    defer { ground.cluster.stop() }
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
    // Another one takes its share, and leaves again.
    let stopSecond = StopRequest()
    let report = try await ground.daemon(stop: stopSecond) { event in
      if case .restored(let partitions, _) = event, partitions > 0 { stopSecond.request() }
    }.run()
    #expect(!report.feeds.isEmpty, "its feeds were restored")

    // All partitions are the first one's again, and read from the beginning.
    var isWhole = false
    received = 0
    while received < records.count, let event = await iterator.next() {
      switch event {
      case .restored(let partitions, let feeds):
        isWhole = partitions == 4
        received = 0
        if isWhole { #expect(feeds == 3) }
      case .received(let count): if isWhole { received += count }
      default: break
      }
    }
    stop.request()
    let last = try await first
    let replicas = try Self.follow(try ground.contents(of: "feeds.changesets", partitions: 2))
    #expect(replicas.map(\.feed) == last.feeds.map(\.feed))
    #expect(replicas.map(\.revision) == last.feeds.map(\.revision))
    #expect(replicas.map(\.checksum) == last.feeds.map(\.checksum))
  }

  @Test func `a changesets topic that cannot be read stops the daemon, with the place`() async throws {
    let ground = try Self.ground()
    defer { ground.cluster.stop() }
    let good = Self.records(0..<1)
    try ground.produce(good, to: "feeds.items")
    _ = try await ground.runDaemon(applying: good.count)
    let count = try ground.contents(of: "feeds.changesets", partitions: 2).count { $0.partition == 1 }
    try ground.produce([StoredRecord(partition: 1, "k0/other", "{\"feed\":")], to: "feeds.changesets")

    let error = await #expect(throws: DaemonError.self) { try await ground.runDaemon(applying: 1) }
    #expect(error?.code == .unreadableChangesets)
    #expect(error?.message.contains("feeds.changesets [1], offset \(count): ") == true)
    #expect(error?.message.contains("topics.changesets") == true)
  }

  @Test func `a feed whose reload is missing stops the daemon, with the first record that it lacks`()
    async throws
  {
    let ground = try Self.ground()
    defer { ground.cluster.stop() }
    let head = #""feed":"f","epoch":"feeds.items/0","revision":2,"base":1,"mode":"diff""#
    let delta = "{\(head)," + #""time":"2026-01-01T00:00:00.000Z","through":{},"checksum":"00000000"}"#
    try ground.produce([StoredRecord("d1/f", delta)], to: "feeds.changesets")

    let error = await #expect(throws: DaemonError.self) { try await ground.runDaemon(applying: 1) }
    #expect(error?.code == .unreadableChangesets)
    #expect(error?.message.contains("feeds.changesets [0], offset 0: feed \"f\" has changes") == true)
  }
}
