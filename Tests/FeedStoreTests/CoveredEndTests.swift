import ChangesetTestSupport
import Feed
import FeedStore
import Oracle
import Testing

/// Input partitions that end with transaction markers, which occupy offsets without being records.
struct CoveredEndTests {
  private static let topic = Array("feeds.items".utf8)

  private func options(window: Int64 = 100) -> FeedStoreOptions {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = window
    options.coalescing.idleWindowMilliseconds = window
    return options
  }

  private func record(_ offset: Int) -> OracleRecord {
    OracleRecord(
      offset: offset,
      key: Array("feed".utf8),
      value: Array(#"{"op":"item.upsert","section":"s","item":"i\#(offset)"}"#.utf8)
    )
  }

  @Test func `an end alone is published as an offset, after the window`() async {
    let store = FeedStore(options: options())
    await store.cover(topic: Self.topic, partition: 3, upTo: 101, at: 1_000)
    #expect(await store.deadline == 1_100)
    #expect(await store.isPublicationDue)
    let flush = await store.published()
    #expect(flush.records.isEmpty && flush.rejected.isEmpty)
    #expect(flush.covered.map(\.topic) == [Self.topic])
    #expect(flush.covered.map(\.partition) == [3])
    #expect(flush.covered.map(\.nextOffset) == [101])
    #expect(flush.parts.map(\.isLast) == [true])
    #expect(flush.parts.map(\.endsTransaction) == [true])
    #expect(await !store.isPublicationDue)
    #expect(await store.counters.records == 0)
  }

  @Test func `records before and after an end are covered with it`() async throws {
    let store = FeedStore(options: options())
    _ = try await store.apply(RecordBatch([record(99)]), time: .clock(1_000))
    await store.cover(topic: Self.topic, partition: 0, upTo: 101, at: 1_050)
    #expect(await store.deadline == 1_100)
    var flush = await store.published()
    #expect(flush.records.count == 1)
    #expect(flush.covered.map(\.nextOffset) == [101])

    await store.cover(topic: Self.topic, partition: 0, upTo: 103, at: 2_000)
    _ = try await store.apply(RecordBatch([record(107)]), time: .clock(2_010))
    #expect(await store.deadline == 2_100)
    flush = await store.published()
    #expect(flush.covered.map(\.nextOffset) == [108])
    #expect(await store.counters.records == 2)
  }

  @Test func `an end that is rolled back leaves nothing`() async throws {
    let store = FeedStore(options: options())
    _ = try await store.apply(RecordBatch([record(0)]), time: .clock(0))
    _ = await store.published()
    let counters = await store.counters
    await store.cover(topic: Self.topic, partition: 0, upTo: 9, at: 200)
    _ = try await store.apply(RecordBatch([record(9)]), time: .clock(210))
    _ = await store.withdrawn()
    #expect(await !store.isPublicationDue)
    #expect(await store.counters == counters)
  }
}
