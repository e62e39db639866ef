import ChangesetTestSupport
import Feed
import FeedStore
import FeedTestSupport
import Testing

/// Partitions that are dropped while others stay.
struct DroppedPartitionTests {
  private func record(_ offset: Int, partition: Int) -> OracleRecord {
    OracleRecord(
      topic: "feeds.items",
      partition: partition,
      offset: offset,
      key: Array("feed-\(partition)".utf8),
      value: Array(#"{"op":"item.upsert","section":"s","item":"i\#(offset)"}"#.utf8)
    )
  }

  @Test func `a dropped partition loses its feeds, and others keep theirs and their pending changes`()
    async throws
  {
    let budget = StateBudget()
    let store = FeedStore(options: FeedStoreOptions(), budget: budget)
    let first = (0..<2).map { record(0, partition: $0) }
    _ = try await store.apply(RecordBatch(first), time: .clock(1_000))
    #expect(await store.isPublicationDue(of: 0))
    #expect(await store.isPublicationDue(of: 1))
    #expect(await !store.isPublicationDue(of: 2))
    _ = await store.published()
    let both = await store.stateBytes

    // The other partition has a waiting record.
    _ = try await store.apply(RecordBatch([record(1, partition: 1)]), time: .clock(2_000))
    #expect(await !store.isPublicationDue(of: 0))
    await store.drop(partition: 0)
    await store.drop(partition: 7)
    await store.checkInvariants()
    #expect(await store.feedCount == 1)
    #expect(await store.summaries().map(\.feed) == ["feed-1"])
    #expect(await store.stateBytes < both)
    #expect(await store.published().records.map(\.partition) == [1])

    // It may be assigned again as if it were new.
    _ = try await store.apply(RecordBatch([record(0, partition: 0)]), time: .clock(3_000))
    await store.drop(partition: 1)
    #expect(await store.published().records.map(\.partition) == [0])
    await store.checkInvariants()
    #expect(await store.summaries().map(\.feed) == ["feed-0"])
  }
}
