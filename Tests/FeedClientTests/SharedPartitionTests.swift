import ChangesetTestSupport
import Changesets
import ConformanceSupport
import Feed
import FeedChecks
import Kafka
import Oracle
import Testing

@testable import FeedClient

/// The state that a board shares with a store, in both directions.
struct SharedPartitionTests {
  private let source = ChangesetSource()

  /// A feed as a store continues from it.
  private struct Continued: Equatable, CustomStringConvertible {
    let feed: String
    let version: PublishedVersion?
    let checksum: UInt32
    let stateBytes: Int

    init(_ feed: PublishedFeed) {
      feed.checkInvariants()
      self.feed = feed.id.text
      version = feed.version
      checksum = feed.checksum
      stateBytes = feed.stateBytes
    }

    var description: String { "\(feed) \(version.map { "\($0)" } ?? "nil") \(checksum) \(stateBytes)" }
  }

  private static func take(_ entry: ChangesetLog.Entry, on board: Subscriptions) {
    entry.record.withBytes { key, value in
      _ = board.take(0, offset: entry.offset, key: ByteSpan(key), value: value.map { ByteSpan($0) })
    }
  }

  /// The feeds from which a store continues; nil if a record is missing at the end.
  private static func taken(_ replicas: ReplicaPartition, atOnce count: Int = .max) throws -> [Continued]? {
    var feeds: [PublishedFeed] = []
    do throws(ReplicaFault) {
      repeat { feeds += try replicas.takeFeeds(most: count) } while replicas.hasFeedsLeft
    } catch {
      return nil
    }
    return feeds.map(Continued.init).sorted { Array($0.feed.utf8).lexicographicallyPrecedes($1.feed.utf8) }
  }

  private static func contents(_ board: Subscriptions) -> [[UInt8]] {
    board.collect { $0.contents }.map { $0.reloadDocument() }
  }

  @Test(arguments: RandomCases.seeds(701...706))
  func `whoever continues from what a board has followed ends with the same feeds, and the board too`(
    seed: UInt64
  ) async throws {
    let log = try await ChangesetLog.random(seed, flushes: 60)
    var random = SplitMix64(seed: seed)
    let whole = ReplicaPartition(describesChanges: false)
    let alone = Subscriptions.opened()
    for entry in log.entries {
      try whole.apply(entry.record)
      Self.take(entry, on: alone)
    }
    let expected = try Self.taken(whole)
    #expect(expected != nil)
    for _ in 0..<12 {
      let board = Subscriptions.opened()
      let cut = random.below(log.entries.count + 1)
      for entry in log.entries[..<cut] { Self.take(entry, on: board) }
      let shared = try #require(board.share(0))
      #expect(shared.position == (cut == 0 ? 0 : log.entries[cut - 1].offset + 1))
      let replicas = shared.replicas
      #expect(replicas.stateBytes == board.progress[0].stateBytes)
      // The board may be ahead, behind, or in step.
      var (left, right) = (log.entries[cut...], log.entries[cut...])
      while !left.isEmpty || !right.isEmpty {
        if random.chance(50), let entry = left.popFirst() { Self.take(entry, on: board) }
        if random.chance(50), let entry = right.popFirst() { try replicas.apply(entry.record) }
        if left.isEmpty, right.isEmpty { break }
      }
      #expect(try Self.taken(replicas, atOnce: 1) == expected, "seed \(seed), cut at \(cut)")
      #expect(Self.contents(board) == Self.contents(alone), "seed \(seed), cut at \(cut)")
    }
  }

  @Test(arguments: RandomCases.seeds(711...713))
  func `a board that continues from what was restored has the same feeds as one that has read them`(
    seed: UInt64
  ) async throws {
    let log = try await ChangesetLog.random(seed, flushes: 60)
    var random = SplitMix64(seed: seed)
    let alone = Subscriptions.opened()
    for entry in log.entries { Self.take(entry, on: alone) }
    for _ in 0..<12 {
      let cut = random.below(log.entries.count + 1)
      let replicas = ReplicaPartition(describesChanges: false)
      for entry in log.entries[..<cut] { try replicas.apply(entry.record) }
      let board = Subscriptions(partitions: [0])
      let position = log.entries[..<cut].last.map { $0.offset + 1 } ?? 0
      board.adopt(copying: ReadPartition("", 0, continuing: replicas, from: position))
      board.open([0], beginnings: [0: 0], ends: [0: log.end])
      #expect(board.positions == [0: position])
      let restored = try Self.taken(replicas, atOnce: 2)
      if restored == nil { #expect(cut < log.entries.count) }
      for entry in log.entries[cut...] { Self.take(entry, on: board) }
      #expect(Self.contents(board) == Self.contents(alone), "seed \(seed), cut at \(cut)")
    }
  }

  @Test(arguments: RandomCases.seeds(721...722))
  func `feeds are taken over from a board while it is read`(seed: UInt64) async throws {
    let log = try await ChangesetLog.random(seed, flushes: 60)
    let board = Subscriptions.opened()
    async let reading: Void = Self.read(log, on: board)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var position: Int64 = 0
          while position < log.end {
            guard let shared = board.share(0) else { throw CancellationError() }
            position = shared.position
            let replicas = shared.replicas
            for entry in log.entries(from: position) { try replicas.apply(entry.record) }
            #expect(try Self.taken(replicas) != nil, "seed \(seed), shared at \(position)")
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }
    await reading
  }

  private static func read(_ log: ChangesetLog, on board: Subscriptions) async {
    for entry in log.entries {
      take(entry, on: board)
      await Task.yield()
    }
  }

  @Test func `what one side changes does not change for the other`() async throws {
    let board = Subscriptions.opened()
    board.take(try await source.flush(("a", ChangesetSource.item("x")), ("b", ChangesetSource.item("x"))))
    let shared = try #require(board.share(0))
    let replicas = shared.replicas
    board.take(try await source.flush(("a", ChangesetSource.item("y"))))
    // The other one has it unchanged.
    #expect(replicas.replica(of: "a")?.itemCount == 1)
    #expect(board.content(of: ByteText("a"))?.snapshot.itemIdentifiers == ["x", "y"])
    let feeds = try replicas.takeFeeds()
    #expect(feeds.map(\.itemCount) == [1, 1])
    #expect(board.content(of: ByteText("b"))?.snapshot.itemIdentifiers == ["x"])
  }

  @Test func `what subscribers tolerate and a store does not is not shared`() async throws {
    let board = Subscriptions.opened()
    #expect(board.share(1) == nil)
    let records = try await source.flush(("a", ChangesetSource.item("x")))
    board.take(records)
    #expect(board.share(0) != nil)
    board.take([ChangesetSource.Record(key: Array("k0/b".utf8), value: Array("{}".utf8))])
    #expect(board.share(0) == nil)
    #expect(board.progress.map(\.position) == [2])
    #expect(board.progress[0].damage?.contains("offset 1: the value lacks") == true)
    let bytes = records.reduce(0) { $0 + $1.key.count + ($1.value?.count ?? 0) }
    #expect(board.progress.map(\.records) == [2])
    #expect(board.progress.map(\.recordBytes) == [bytes + 6])
    // Nor partitions of which only some feeds are followed.
    let filtered = Subscriptions(partitions: nil, keeping: [ByteText("a")])
    filtered.open([0], beginnings: [0: 0])
    #expect(filtered.share(0) == nil)
  }

  @Test func `what was restored is used only within the partition, and not if the partition is followed`()
    async throws
  {
    let records = try await source.flush(("a", ChangesetSource.item("x")))
    let replicas = ReplicaPartition(describesChanges: false)
    for record in records { try replicas.apply(record) }
    for (low, high, position) in [(Int64(0), Int64(5), Int64(5)), (0, 4, 0), (6, 9, 6)] {
      let board = Subscriptions(partitions: [0])
      board.adopt(copying: ReadPartition("", 0, continuing: replicas, from: 5))
      board.open([0], beginnings: [0: low], ends: [0: high])
      #expect(board.positions == [0: position])
      #expect((board.content(of: ByteText("a")) != nil) == (position == 5))
      #expect(board.standing == .bootstrapping)
      board.adopt(copying: ReadPartition("", 0, continuing: replicas, from: 2))
      board.open([], beginnings: [:])
      board.open([0], beginnings: [0: 0], ends: [0: 9])
      #expect(board.positions == [0: 0])
    }
    let forgetful = Subscriptions(partitions: [0])
    forgetful.adopt(copying: ReadPartition("", 0, continuing: replicas, from: 5))
    forgetful.adopt(nil, of: 0)
    forgetful.open([0], beginnings: [0: 0], ends: [0: 9])
    #expect(forgetful.positions == [0: 0])
  }

  @Test func `a client reads only what follows what was restored`() async throws {
    let cluster = try EmbeddedCluster.forChangesets(partitions: 1)
    defer { cluster.stop() }
    let records =
      try await source.flush(("a", ChangesetSource.item("x")), ("b", ChangesetSource.item("x")))
      + source.flush(("a", ChangesetSource.item("y")))
    try cluster.produce(records)
    let replicas = ReplicaPartition(describesChanges: false)
    for record in records.dropLast() { try replicas.apply(record) }
    let client = cluster.client(partitions: [0])
    let (told, continuation) = AsyncStream<[PartitionProgress]>.makeStream(bufferingPolicy: .unbounded)
    client.watchProgress { continuation.yield($0) }
    client.subscriptions.adopt(
      copying: ReadPartition("feeds.changesets", 0, continuing: replicas, from: Int64(records.count - 1))
    )
    async let running: Void = client.run()
    for await progress in told where progress.first?.standing == .upToDate {
      #expect(progress.map(\.records) == [1])
      #expect(progress.map(\.position) == [Int64(records.count)])
      #expect(progress.map(\.knownEnd) == [Int64(records.count)])
      break
    }
    #expect(client.content(of: "a")?.snapshot.itemIdentifiers == ["x", "y"])
    #expect(client.content(of: "b")?.snapshot.itemIdentifiers == ["x"])
    client.stop()
    try await running
  }
}
