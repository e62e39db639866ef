import ChangesetTestSupport
import FeedChecks
import FeedStore
import Oracle
import Testing

/// The parts of a flush, and the effect of confirming and rolling back on the store.
struct FlushTests {
  /// A window that ends only when the test flushes.
  private var options: FeedStoreOptions {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 3_600_000
    options.coalescing.idleWindowMilliseconds = 3_600_000
    options.coalescing.maxBytes = .max
    return options
  }

  private func record(_ offset: Int, feed: String, size: Int = 0) -> OracleRecord {
    let data = String(repeating: "x", count: size)
    return OracleRecord(
      offset: offset,
      key: Array(feed.utf8),
      value: Array(#"{"op":"item.upsert","section":"s","item":"i\#(offset)","data":"\#(data)"}"#.utf8)
    )
  }

  /// Records of one feed whose reload is longer than a part, of another feed, and one rejected record.
  private var large: [OracleRecord] {
    let rejected = OracleRecord(offset: 61, key: Array("b".utf8), value: [])
    return (0..<60).map { record($0, feed: "a", size: 100_000) } + [record(60, feed: "b"), rejected]
  }

  @Test func `a long flush comes in parts, and only the last has rejected records and offsets`() async throws
  {
    let store = FeedStore(options: options)
    _ = try await store.apply(RecordBatch(large), time: .records)
    let flush = await store.published()
    #expect(flush.parts.map(\.isLast) == [false, true])
    #expect(flush.parts.map(\.endsTransaction) == [false, true])
    #expect(flush.parts.map(\.rejected.count) == [0, 1])
    #expect(flush.parts.map { $0.covered.map(\.nextOffset) } == [[], [62]])
    let sizes = flush.parts.map { part in
      part.records.reduce(0) { $0 + $1.key.count + ($1.value?.count ?? 0) }
    }
    #expect(sizes[0] >= 4 << 20 && sizes[1] > 1 << 20, "\(sizes)")
    let keys = flush.records.map { String(decoding: $0.key, as: UTF8.self) }
    #expect(keys == (0..<keys.count - 1).map { "k\($0)/a" } + ["k0/b"])
    let counters = await store.counters
    #expect(counters.outputRecords == keys.count)
    #expect(counters.outputBytes == sizes.reduce(0, +))
    #expect(counters.flushes == 1)
  }

  @Test func `a flush that is rolled back in the middle of a feed comes out the same again`() async throws {
    let store = FeedStore(options: options)
    _ = try await store.apply(RecordBatch([record(0, feed: "c")]), time: .records)
    _ = await store.published()
    let (counters, summaries) = (await store.counters, await store.summaries())

    _ = try await store.apply(RecordBatch(large), time: .records)
    let withdrawn = await store.withdrawn(parts: 1)
    #expect(withdrawn.parts.map(\.isLast) == [false])
    await store.checkInvariants()
    #expect(await !store.isPublicationDue)
    #expect(await store.counters == counters)
    #expect(await store.summaries() == summaries)

    _ = try await store.apply(RecordBatch(large), time: .records)
    let flush = await store.published()
    #expect(flush.parts.first == withdrawn.parts.first)
    #expect(flush.parts.count == 2)
    await store.checkInvariants()
  }

  @Test func `rolling back after a transaction keeps what that transaction published`() async throws {
    var options = options
    options.maxTransactionBytes = 1
    let store = FeedStore(options: options)
    _ = try await store.apply(RecordBatch(["a", "b"].map { record(0, feed: $0) }), time: .records)
    var flush = await store.beginFlush()
    let part = await store.nextPart(of: &flush)
    #expect(part.endsTransaction && !part.isLast)
    guard let rest = await store.confirm(flush) else {
      Issue.record("the flush is not published as a whole")
      return
    }
    await store.rollBack(rest)
    await store.checkInvariants()
    #expect(await !store.isPublicationDue)
    #expect(await store.summaries().map(\.feed) == ["a"])
    let counters = await store.counters
    #expect(counters.records == 0 && counters.outputRecords == 1)

    _ = try await store.apply(RecordBatch(["a", "b"].map { record(0, feed: $0) }), time: .records)
    #expect(await store.published().records.map(\.key) == [Array("k0/b".utf8)])
  }

  @Test func `a section is guarded until the transaction that removes its order`() async throws {
    var options = options
    options.maxTransactionBytes = 1
    let store = FeedStore(options: options)
    func order(_ offset: Int, _ order: String) -> OracleRecord {
      let event = #"{"op":"section.upsert","section":"s","order":\#(order)}"#
      return OracleRecord(offset: offset, key: Array("b".utf8), value: Array(event.utf8))
    }
    _ = try await store.apply(RecordBatch([order(0, #"[{"by":"/n"}]"#)]), time: .records)
    _ = await store.published()
    _ = try await store.apply(RecordBatch([record(1, feed: "a"), order(2, "null")]), time: .records)
    var flush = await store.beginFlush()
    // The changeset of the feed `a`.
    _ = await store.nextPart(of: &flush)
    #expect(await store.hasSettings(partition: 0, after: flush))
    guard var rest = await store.confirm(flush) else {
      Issue.record("the flush is one transaction")
      return
    }
    _ = await store.nextPart(of: &rest)
    #expect(await !store.hasSettings(partition: 0, after: rest))
    await store.rollBack(rest)
    #expect(await store.summaries().count == 2)
  }

  @Test func `if a part cannot be published, its transaction is rolled back`() async throws {
    struct Failure: Error {}
    var options = options
    options.maxTransactionBytes = 1
    let store = FeedStore(options: options)
    _ = try await store.apply(RecordBatch(["a", "b"].map { record(0, feed: $0) }), time: .records)
    let publish: (isolated FeedStore) throws -> Void = { store in
      try store.publish { part throws(Failure) in
        if part.isLast { throw Failure() }
      }
    }
    await #expect(throws: Failure.self) { try await publish(store) }
    await store.checkInvariants()
    #expect(await !store.isPublicationDue)
    #expect(await store.summaries().map(\.feed) == ["a"])
  }

  // MARK: Broken rules

  /// A store with two waiting feeds, and transactions of one feed.
  private static func waitingStore() async throws -> FeedStore {
    let tests = FlushTests()
    var options = tests.options
    options.maxTransactionBytes = 1
    let store = FeedStore(options: options)
    let records = ["a", "b"].map { tests.record(0, feed: $0) }
    _ = try await store.apply(RecordBatch(records), time: .records)
    return store
  }

  @Test func `dropping a flush ends the process and says what to do`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try await FlushTests.waitingStore()
      var flush = await store.beginFlush()
      await store.prepareNextPart(of: &flush)
    }
    let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(message.contains("a flush was dropped; confirm it or roll it back"), "\(message)")
  }

  @Test func `dropping what is left of a flush ends the process`() async {
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      var flush = await store.beginFlush()
      await store.prepareNextPart(of: &flush)
      _ = await store.confirm(flush)
    }
  }

  @Test func `a store has one flush at a time, and applies nothing meanwhile`() async {
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      let flush = await store.beginFlush()
      await store.rollBack(store.beginFlush())
      await store.rollBack(flush)
    }
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      let flush = await store.beginFlush()
      _ = try? await store.apply(RecordBatch([]), time: .records)
      await store.rollBack(flush)
    }
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      let flush = await store.beginFlush()
      await store.rollBack()
      await store.rollBack(flush)
    }
  }

  @Test func `a flush belongs to the store that has begun it`() async {
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      let other = try await FlushTests.waitingStore()
      let flush = await store.beginFlush()
      let second = await other.beginFlush()
      await store.rollBack(second)
      await other.rollBack(flush)
    }
  }

  @Test func `a transaction is confirmed at its end, before anything else is prepared`() async {
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      let flush = await store.beginFlush()
      if let rest = await store.confirm(flush) { await store.rollBack(rest) }
    }
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      var flush = await store.beginFlush()
      await store.prepareNextPart(of: &flush)
      await store.prepareNextPart(of: &flush)
      await store.rollBack(flush)
    }
  }

  @Test func `a part is lent only after it was prepared, and not once it is confirmed`() async {
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      let flush = await store.beginFlush()
      await FlushTests.look(flush, store)
      await store.rollBack(flush)
    }
    await #expect(processExitsWith: .failure) {
      let store = try await FlushTests.waitingStore()
      var flush = await store.beginFlush()
      await store.prepareNextPart(of: &flush)
      guard let rest = await store.confirm(flush) else { return }
      await FlushTests.look(rest, store)
      await store.rollBack(rest)
    }
  }

  private static func look(_ flush: borrowing Flush, _ store: isolated FeedStore) {
    store.withPart(of: flush) { _ in }
  }
}
