import ChangesetTestSupport
import FeedChecks
import Oracle
import Testing

@testable import Feed
@testable import FeedStore

/// Items that end by the daemon's clock.
struct EndedItemTests {
  private func record(_ offset: Int, at time: Int, feed: String = "f", _ value: String) -> OracleRecord {
    OracleRecord(
      offset: offset,
      timestamp: time,
      key: Array(feed.utf8),
      value: Array(value.utf8)
    )
  }

  private func upsert(_ item: String, _ rest: String = "") -> String {
    #"{"op":"item.upsert","section":"s","item":"\#(item)"\#(rest)}"#
  }

  private func texts(_ flush: PublishedFlush) -> [String] {
    flush.records.compactMap { $0.value.map { String(decoding: $0, as: UTF8.self) } }
  }

  /// Lets time pass without records.
  private func pass(_ store: FeedStore, to time: Int64) async throws -> ApplyOutcome {
    let outcome = try await store.apply(RecordBatch([]), time: .clock(time, wall: time))
    await store.checkInvariants()
    return outcome
  }

  @Test func `an item ends by the clock, whatever the timestamps of records say`() async throws {
    let store = FeedStore(options: FeedStoreOptions())
    let batch = RecordBatch([
      record(0, at: 1_000, upsert("a", #","expires":5000"#)), record(1, at: 1_000, upsert("b")),
    ])
    _ = try await store.apply(batch, time: .clock(1_000, wall: 1_000))
    _ = await store.published()
    // Its time is far in the future, and the clock is not.
    _ = try await store.apply(
      RecordBatch([record(2, at: 900_000, feed: "g", upsert("x"))]),
      time: .clock(1_100, wall: 1_100)
    )
    #expect(await store.published().records.count == 1)
    #expect(await store.nextEnd == 5_000)
    _ = try await pass(store, to: 4_999)
    #expect(await !store.isPublicationDue)
    _ = try await pass(store, to: 5_000)
    #expect(await store.isPublicationDue(of: 0))
    #expect(await store.deadline == 5_010)
    let flush = await store.published()
    #expect(flush.covered.isEmpty)
    #expect(texts(flush).count == 1)
    let value = texts(flush)[0]
    #expect(value.contains(#""time":"1970-01-01T00:00:05.000Z","through":{"feeds.items":1}"#), "\(value)")
    #expect(value.contains(#""items":{"delete":[{"id":"a","section":"s","index":0}]}"#), "\(value)")
    #expect(await store.counters.endedItems == 1)
    _ = try await pass(store, to: 6_000)
    #expect(await !store.isPublicationDue)
    #expect(await store.nextEnd == .max)
  }

  @Test func `a deletion that is rolled back is made again`() async throws {
    let store = FeedStore(options: FeedStoreOptions())
    _ = try await store.apply(
      RecordBatch([record(0, at: 0, upsert("a", #","expires":500"#))]),
      time: .clock(0, wall: 0)
    )
    _ = await store.published()
    _ = try await pass(store, to: 500)
    let withdrawn = await store.withdrawn()
    #expect(await store.counters.endedItems == 0)
    #expect(await store.content.items == 1)
    _ = try await pass(store, to: 501)
    #expect(texts(await store.published()) == texts(withdrawn))
    #expect(await store.content.items == 0)
  }

  @Test func `a clock that jumps back brings nothing again, and one that jumps ahead ends what it passes`()
    async throws
  {
    let store = FeedStore(options: FeedStoreOptions())
    let end = 10_000_000
    _ = try await store.apply(
      RecordBatch([record(0, at: 0, upsert("a", #","expires":\#(end)"#)), record(1, at: 0, upsert("b"))]),
      time: .clock(0, wall: 0)
    )
    _ = await store.published()
    _ = try await store.apply(RecordBatch([]), time: .clock(10, wall: Int64(end) + 3_600_000))
    #expect(texts(await store.published()).count == 1)
    for wall in [-3_600_000, 0, Int64(end)] {
      _ = try await store.apply(RecordBatch([]), time: .clock(20, wall: wall))
      #expect(await !store.isPublicationDue)
    }
  }

  @Test
  func `what ended while no worker had the partition is deleted after restoring, and what has not stays`()
    async throws
  {
    let store = FeedStore(options: FeedStoreOptions())
    let section = #"[{"op":"section.upsert","section":"s","ttl":900},\#(upsert("a"))]"#
    let batch = RecordBatch([
      record(0, at: 100, section), record(1, at: 100, upsert("b", #","expires":"1970-01-01T00:00:02Z""#)),
      record(2, at: 100, upsert("c", #","expires":null"#)),
    ])
    _ = try await store.apply(batch, time: .clock(100, wall: 100))
    let replicas = ReplicaPartition(describesChanges: false)
    for record in await store.published().records { _ = try replicas.apply(record) }
    let other = FeedStore(options: FeedStoreOptions())
    nonisolated(unsafe) let read = replicas
    try await other.restore(partition: 0, from: read)
    #expect(await other.nextEnd == 1_000)
    _ = try await pass(other, to: 1_500)
    let value = texts(await other.published()).first ?? "nothing"
    #expect(value.contains(#""items":{"delete":[{"id":"a","section":"s","index":0}]}"#), "\(value)")
    // The section's time to live is known as well.
    _ = try await other.apply(
      RecordBatch([record(3, at: 1_600, upsert("d"))]),
      time: .clock(1_600, wall: 1_600)
    )
    let next = texts(await other.published()).first ?? "nothing"
    #expect(next.contains(#""expires":"1970-01-01T00:00:02.500Z""#), "\(next)")
    // Handed over with the state.
    let given = try #require(await other.takeOut(partition: 0))
    #expect(await other.nextEnd >= 2_000)
    let third = FeedStore(options: FeedStoreOptions())
    try await third.restore(partition: 0, from: given.replicas)
    #expect(await third.nextEnd == 2_000)
  }

  @Test func `many items that end at once leave room for other records`() async throws {
    var options = FeedStoreOptions()
    options.coalescing.maxRecords = 1_000_000
    let store = FeedStore(options: options)
    let items = (0..<25_000).map { #"{"id":"i\#($0)","expires":1000}"# }.joined(separator: ",")
    let list = #"{"op":"section.replace","section":"s","items":[\#(items)]}"#
    _ = try await store.apply(RecordBatch([record(0, at: 0, list)]), time: .clock(0, wall: 0))
    _ = await store.published()
    let others = RecordBatch((1...3).map { record($0, at: 0, feed: "g", upsert("x\($0)")) })
    _ = try await store.apply(others, time: .clock(1_000, wall: 1_000))
    #expect(await store.counters.endedItems == 10_000)
    #expect(await store.content.items == 15_000 + 3)
    #expect(await store.nextEnd <= 1_000)
    for expected in [20_000, 25_000, 25_000] {
      _ = try await pass(store, to: 1_000)
      #expect(await store.counters.endedItems == expected)
    }
    #expect(await store.nextEnd == .max)
  }

  @Test func `ends that do not count any more do not stay in memory`() async throws {
    let store = FeedStore(options: FeedStoreOptions())
    for start in stride(from: 0, to: 50_000, by: 1_000) {
      let rejected =
        #"[\#(upsert("b", #","expires":\#(1_000_000 + start)"#)),{"op":"item.upsert","item":"never"}]"#
      let moved = #"[{"op":"item.move","item":"a","at":"first"},{"op":"item.move","item":"a","at":"last"}]"#
      let batch = RecordBatch(
        (start..<start + 1_000).map { number in
          let values = [upsert("a", #","expires":\#(1_000_000 + number)"#), rejected, moved, upsert("c")]
          return record(number, at: 0, values[number % 4])
        }
      )
      while try await store.apply(batch, time: .clock(0, wall: 0)) == .flushDue {
        _ = await store.published()
      }
      _ = await store.published()
      #expect(await store.endEntries < 5_000)
    }
    await store.checkInvariants()
    _ = await store.published()
    _ = try await store.apply(
      RecordBatch([record(60_000, at: 0, #"{"op":"feed.delete"}"#)]),
      time: .clock(0, wall: 0)
    )
    _ = await store.published()
    _ = try await pass(store, to: 2_000_000)
    #expect(await !store.isPublicationDue)
    #expect(await store.endEntries == 0)
  }
}

extension FeedStore {
  /// How many ends are kept, including those that do not count any more.
  fileprivate var endEntries: Int { directories.values.reduce(0) { $0 + $1.ends.heap.count } }
}
