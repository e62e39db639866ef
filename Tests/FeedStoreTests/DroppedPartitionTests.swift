import ChangesetTestSupport
import Feed
import FeedChecks
import FeedStore
import Oracle
import Testing

/// Partitions that are dropped while others stay, and ids in several partitions.
struct DroppedPartitionTests {
  private func record(
    _ offset: Int,
    partition: Int,
    key: String? = nil,
    _ value: String? = nil
  ) -> OracleRecord {
    OracleRecord(
      partition: partition,
      offset: offset,
      key: Array((key ?? "feed-\(partition)").utf8),
      value: Array((value ?? #"{"op":"item.upsert","section":"s","item":"i\#(offset)"}"#).utf8)
    )
  }

  private func publish(_ store: FeedStore, _ records: [OracleRecord]) async throws {
    _ = try await store.apply(RecordBatch(records), time: .clock(1_000))
    _ = await store.published()
  }

  @Test func `an id in several partitions is reported once, and counts until it is in one`() async throws {
    let store = FeedStore(options: FeedStoreOptions())
    try await publish(store, [record(0, partition: 0, key: "dup"), record(0, partition: 1)])
    #expect(await store.takeSharedIDs() == [])
    try await publish(store, (1...2).map { record(1, partition: $0, key: "dup") })
    let messages = await store.takeSharedIDs()
    #expect(messages.count == 1)
    #expect(messages.first?.hasPrefix("feed \"dup\" is in the partitions 0, 1, 2: ") == true)
    try await publish(store, [record(2, partition: 1, key: "dup"), record(2, partition: 2)])
    #expect(await store.takeSharedIDs() == [])
    #expect(await store.content.sharedIDs == 1)
    try await publish(store, [record(3, partition: 1, key: "dup", #"{"op":"feed.delete"}"#)])
    #expect(await store.content.sharedIDs == 1)
    await store.drop(partition: 2)
    #expect(await store.content.sharedIDs == 0)

    // The same for restored partitions.
    let replicas = ReplicaPartition()
    for record in try await ChangesetSource().flush(("dup", ChangesetSource.item("x"))) {
      try replicas.apply(record)
    }
    nonisolated(unsafe) let read = replicas
    try await store.restore(partition: 2, from: read)
    #expect(await store.takeSharedIDs().count == 1)
    #expect(await store.content.sharedIDs == 1)
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

  @Test func `ids in several partitions are reported in the order of their bytes`() {
    var ids = SharedIDs()
    for id in ["b", "a", "c"] { ids.note(ByteText(id), in: [0, 1]) }
    #expect(ids.takeNews().map { String($0.prefix(8)) } == ["a", "b", "c"].map { "feed \"\($0)\"" })
  }
}
