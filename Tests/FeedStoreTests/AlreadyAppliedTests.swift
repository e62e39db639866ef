import ChangesetTestSupport
import Feed
import FeedStore
import Oracle
import Testing

/// Records that count as already applied if their window published nothing.
@Suite struct AlreadyAppliedTests {
  private static let create = #"{"op":"section.upsert","section":"s"}"#
  private static let insert = #"{"op":"item.upsert","item":"a","section":"s"}"#
  private static let delete = #"{"op":"item.delete","item":"a"}"#

  /// A store with one feed, driven window by window.
  private final class Input {
    let store = FeedStore(options: FeedStoreOptions())

    func apply(_ value: String?, _ offset: Int, topic: String = "feeds.items") async throws {
      let record = OracleRecord(
        topic: topic,
        offset: offset,
        key: Array("f".utf8),
        value: value.map { Array($0.utf8) }
      )
      _ = try await store.apply(RecordBatch([record]), time: .records)
    }

    /// Publishes the waiting records. Returns the values; nil for a null.
    func publish() async -> [String?] { await store.published().values }

    var alreadyApplied: Int { get async { await store.counters.noOps[.alreadyApplied] ?? 0 } }
  }

  /// A feed whose last window contained records up to 6, which cancelled each other out.
  private func quietFeed() async throws -> Input {
    let input = Input()
    try await input.apply(Self.create, 0)
    #expect(await input.publish().count == 1)
    try await input.apply(Self.insert, 5)
    try await input.apply(Self.delete, 6)
    #expect(await input.publish().isEmpty)
    return input
  }

  @Test func `records of a window that published nothing are not applied again`() async throws {
    let input = try await quietFeed()
    // Not even a malformed one is rejected.
    for value in [Self.insert, "nonsense"] { try await input.apply(value, 5) }
    #expect(await input.alreadyApplied == 2)
    #expect(await input.publish().isEmpty)
    #expect(await input.store.counters.rejectedRecords == 0)
  }

  @Test func `such records are in no through, and are remembered after a changeset of another topic`()
    async throws
  {
    let input = try await quietFeed()
    try await input.apply(#"{"op":"section.reload","section":"s"}"#, 3, topic: "feeds.sections")
    let value = try #require(await input.publish().first ?? nil)
    #expect(value.contains(#""through":{"feeds.items":0,"feeds.sections":3}"#))
    try await input.apply(Self.insert, 5)
    #expect(await input.alreadyApplied == 1)
    #expect(await input.publish().isEmpty)
    try await input.apply(Self.insert, 7)
    let next = try #require(await input.publish().first ?? nil)
    #expect(next.contains(#""through":{"feeds.items":7,"feeds.sections":3}"#))
  }

  @Test func `a topic whose offsets begin again is forgotten, and others are not`() async throws {
    let input = try await quietFeed()
    try await input.apply(#"{"op":"section.reload","section":"s"}"#, 3, topic: "feeds.sections")
    _ = await input.publish()
    await input.store.forgetTaken(of: Array("feeds.items".utf8), partition: 0)
    try await input.apply(Self.insert, 0)
    #expect(await input.alreadyApplied == 0)
    try await input.apply(#"{"op":"section.reload","section":"s"}"#, 3, topic: "feeds.sections")
    #expect(await input.alreadyApplied == 1)
    let value = try #require(await input.publish().first ?? nil)
    #expect(value.contains(#""through":{"feeds.items":0,"feeds.sections":3}"#))
    // From here on as usual.
    try await input.apply(Self.delete, 0)
    #expect(await input.alreadyApplied == 2)
  }

  @Test func `a rollback forgets what was not confirmed, and nothing else`() async throws {
    let input = try await quietFeed()
    try await input.apply(Self.insert, 7)
    try await input.apply(Self.delete, 8)
    await input.store.rollBack()
    try await input.apply(Self.insert, 6)
    #expect(await input.alreadyApplied == 1)
    try await input.apply(Self.insert, 7)
    #expect(await input.alreadyApplied == 1)
    #expect(await input.publish().count == 1)
  }

  @Test func `a deleted feed remembers nothing`() async throws {
    let input = try await quietFeed()
    try await input.apply(nil, 7)
    #expect(await input.publish().first??.contains(#""mode":"delete""#) == true)
    try await input.apply(Self.create, 2)
    #expect(await input.alreadyApplied == 0)
    #expect(await input.publish().first??.contains(#""through":{"feeds.items":2}"#) == true)
  }

  @Test(arguments: [false, true])
  func `records from before a feed existed are not part of its epoch, whatever window they are in`(
    inOneWindow: Bool
  )
    async throws
  {
    let input = Input()
    try await input.apply(Self.delete, 7, topic: "feeds.sections")
    if !inOneWindow { #expect(await input.publish().isEmpty) }
    try await input.apply(Self.create, 0)
    // An offset that decreases, as after a reset.
    try await input.apply(Self.insert, 5, topic: "feeds.sections")
    #expect(await input.alreadyApplied == 0)
    let value = try #require(await input.publish().first ?? nil)
    #expect(value.contains(#""through":{"feeds.items":0,"feeds.sections":5}"#))
    #expect(value.contains(#""id":"a""#))
  }

  @Test func `records of an unpublished earlier life are not part of an epoch`() async throws {
    let input = Input()
    try await input.apply(Self.create, 7, topic: "feeds.sections")
    try await input.apply(nil, 8, topic: "feeds.sections")
    try await input.apply(Self.create, 1)
    let value = try #require(await input.publish().first ?? nil)
    #expect(value.contains(#""epoch":"feeds.items:0/1","revision":1,"base":0"#))
    #expect(value.contains(#""through":{"feeds.items":1}"#))
  }

  @Test func `a rejected record that would have created the feed again forgets nothing`() async throws {
    let input = Input()
    try await input.apply(Self.create, 7, topic: "feeds.sections")
    try await input.apply(#"[{"op":"feed.delete"},\#(Self.create),{"op":"item.upsert","item":"a"}]"#, 0)
    #expect(await input.store.counters.rejectedRecords == 1)
    try await input.apply(Self.insert, 1)
    let value = try #require(await input.publish().first ?? nil)
    #expect(value.contains(#""through":{"feeds.items":1,"feeds.sections":7}"#))
  }
}
