import ChangesetTestSupport
import Feed
import FeedChecks
import FeedStore
import Oracle
import Testing

/// The limits on state: items and sections of a feed, feeds of a partition, bytes of a process.
@Suite struct GrowthLimitTests {
  /// A store, and the offset of the next record.
  private final class Input {
    let store: FeedStore
    private var offset = 0
    private(set) var log: [JudgedRecord] = []

    init(_ limits: Limits, _ budget: StateBudget = StateBudget()) {
      var options = FeedStoreOptions()
      options.limits = limits
      store = FeedStore(options: options, budget: budget)
    }

    func apply(_ value: String?, feed: String = "f") async throws {
      let record = OracleRecord(offset: offset, key: Array(feed.utf8), value: value.map { Array($0.utf8) })
      offset += 1
      _ = try await store.apply(RecordBatch([record]), time: .records)
      await store.checkInvariants()
    }

    /// Publishes. Returns the codes with which records of the window were rejected.
    @discardableResult
    func flush() async -> [String] {
      let flush = await store.published()
      log += flush.records
      await store.checkInvariants()
      return flush.rejected.map(\.rejection.message)
    }

    /// The message with which a record is rejected; empty if it is applied.
    func rejection(_ value: String?, feed: String = "f") async throws -> String {
      try await apply(value, feed: feed)
      return await flush().joined()
    }

    /// Another store with the same limits, restored from what was published.
    func restored(_ limits: Limits, _ budget: StateBudget = StateBudget()) async throws -> Input {
      let other = Input(limits, budget)
      other.offset = offset
      try await other.restore(from: log)
      return other
    }

    func restore(from log: [JudgedRecord]) async throws {
      let replicas = ReplicaPartition(describesChanges: false)
      for record in log { _ = try replicas.apply(record) }
      try await store.restore(partition: 0, from: replicas)
      await store.checkInvariants()
    }
  }

  private static func items(_ section: String, _ ids: String...) -> String {
    let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"op":"section.replace","section":"\#(section)","items":[\#(list)]}"#
  }

  private static func upsert(_ item: String, _ section: String = "s") -> String {
    #"{"op":"item.upsert","item":"\#(item)","section":"\#(section)"}"#
  }

  // MARK: Agreement

  @Test(arguments: [RandomSetting.tightLimits, .tightState])
  func `random records often exceed each limit`(setting: RandomSetting) async throws {
    var met: [String: Int] = [:]
    for seed in 81...83 as ClosedRange<UInt64> {
      var options = setting.generator
      if seed.isMultiple(of: 2) { options.addOrders() }
      var generator = RecordGenerator(seed: seed, options: options)
      var driver = StoreDriver(setting.options)
      do {
        try await driver.run(generator.records(1_000), checkingInvariants: false)
      } catch {
        Issue.record("setting \(setting), seed \(seed): \(error)")
      }
      met.merge(driver.passedLimits, uniquingKeysWith: +)
    }
    let expected =
      setting == .tightState
      ? ["limits.maxFeeds", "limits.maxStateBytes"] : ["limits.maxItems", "limits.maxSections"]
    for limit in expected { #expect(met[limit, default: 0] >= 20, "\(met)") }
  }

  // MARK: Items and sections

  @Test func `a list that is too long is refused before its elements are read`() async throws {
    var limits = Limits()
    limits.maxItems = 3
    limits.maxSections = 2
    let input = Input(limits)
    #expect(
      try await input.rejection(#"{"op":"section.replace","section":"s","items":["a","a",5,6]}"#)
        == "field 'items' brings the list to 4 items, more than limits.maxItems (3)"
    )
    #expect(
      try await input.rejection(
        #"[{"op":"feed.replace","sections":[{"id":"s","items":["a","b"]},{"id":"t","items":[1,2]}]}]"#
      ) == "event 0: field 'sections.items' brings the list to 4 items, more than limits.maxItems (3)"
    )
    #expect(
      try await input.rejection(#"{"op":"feed.replace","sections":[1,2,3]}"#)
        == "field 'sections' lists 3 sections, more than limits.maxSections (2)"
    )
    #expect(try await input.rejection(Self.items("s", "a", "b", "c")) == "")
  }

  @Test func `at a full feed, single events may exceed the limit temporarily, and a list may not`()
    async throws
  {
    var limits = Limits()
    limits.maxItems = 3
    limits.maxSections = 2
    let input = Input(limits)
    #expect(try await input.rejection("[\(Self.items("s", "a", "b")),\(Self.items("t", "c"))]") == "")
    #expect(try await input.rejection(#"[\#(Self.upsert("d")),{"op":"item.delete","item":"a"}]"#) == "")
    #expect(
      try await input.rejection(Self.upsert("e"))
        == "the record leaves the feed with 4 items, more than limits.maxItems (3)"
    )
    // c is in another section and moves here; e is new.
    #expect(try await input.rejection(Self.items("s", "b", "d", "c")) == "")
    #expect(try await input.rejection(Self.items("t", "c")) == "")
    #expect(
      try await input.rejection(#"[\#(Self.items("t", "c", "e")),{"op":"item.delete","item":"b"}]"#)
        == "event 0: field 'items' leaves the feed with 4 items, more than limits.maxItems (3)"
    )
    // It adds one section, which is checked at the end.
    #expect(
      try await input.rejection(#"[\#(Self.items("u", "c")),{"op":"section.delete","section":"t"}]"#) == ""
    )
    #expect(
      try await input.rejection(Self.items("v", "c"))
        == "the record leaves the feed with 3 sections, more than limits.maxSections (2)"
    )
  }

  @Test func `a feed larger than a lowered limit may be listed, but not grow`() async throws {
    let input = Input(Limits())
    #expect(try await input.rejection(Self.items("s", "a", "b", "c", "d")) == "")
    var limits = Limits()
    limits.maxItems = 2
    limits.maxFeeds = 0
    limits.maxStateBytes = 0
    let lower = try await input.restored(limits)
    #expect(try await lower.rejection(Self.items("s", "d", "c", "b", "a")) == "")
    #expect(
      try await lower.rejection(Self.items("s", "a", "b", "c", "d", "e"))
        == "field 'items' brings the list to 5 items, more than limits.maxItems (2)"
    )
    #expect(try await lower.rejection(Self.items("s", "d", "c", "b")) == "")
    #expect(try await lower.rejection(Self.upsert("x")).contains("limits.maxItems (2)"))
  }

  // MARK: Feeds

  @Test func `no feed is created beyond the limit, and a deletion makes room at once`()
    async throws
  {
    var limits = Limits()
    limits.maxFeeds = 2
    let input = Input(limits)
    for feed in ["a", "b"] { #expect(try await input.rejection(Self.upsert("i"), feed: feed) == "") }
    let message =
      "creates a feed; the partition would have 3 feeds, more than limits.maxFeeds (2): "
      + "delete feeds, use more partitions, or raise the limit"
    #expect(try await input.rejection(Self.upsert("i"), feed: "c") == "the record \(message)")
    #expect(
      try await input.rejection(#"[{"op":"feed.reload"},{"op":"feed.replace","sections":[]}]"#, feed: "c")
        == "event 1 \(message)"
    )
    #expect(await input.store.feedCount == 2)
    // Existing feeds can change, and be deleted and recreated.
    #expect(try await input.rejection(Self.upsert("j"), feed: "a") == "")
    #expect(try await input.rejection(#"[{"op":"feed.delete"},\#(Self.upsert("j"))]"#, feed: "a") == "")
    // The deletion is not published yet.
    try await input.apply(nil, feed: "b")
    try await input.apply(Self.upsert("i"), feed: "c")
    #expect(await input.flush() == [])
    // No-ops are not rejected.
    #expect(try await input.rejection(#"{"op":"item.delete","item":"i"}"#, feed: "d") == "")
    // After a rollback, both are unchanged.
    try await input.apply(nil, feed: "c")
    await input.store.rollBack()
    #expect(try await input.rejection(Self.upsert("i"), feed: "d") == "the record \(message)")
  }

  @Test func `restoring accepts more feeds than the limit, and only new ones are rejected`() async throws {
    let input = Input(Limits())
    for feed in ["a", "b", "c"] { try await input.apply(Self.upsert("i"), feed: feed) }
    await input.flush()
    var limits = Limits()
    limits.maxFeeds = 1
    let lower = try await input.restored(limits)
    #expect(await lower.store.feedCount == 3)
    #expect(try await lower.rejection(Self.upsert("j"), feed: "b") == "")
    try await lower.apply(nil, feed: "a")
    #expect(try await lower.rejection(Self.upsert("i"), feed: "d").contains("have 3 feeds"))
  }

  // MARK: State

  /// The protocol's formula for a feed with one section and items with short ids and `null` as data.
  private static func bytes(items: Int) -> Int {
    1024 + (256 + #"{"id":"s","data":null}"#.utf8.count)
      + items * (128 + #"{"id":"i","kind":"","data":null}"#.utf8.count)
  }

  @Test func `a record that would exceed the limit on state has no effect, and others are applied`()
    async throws
  {
    var limits = Limits()
    limits.maxStateBytes = Self.bytes(items: 3)
    let input = Input(limits)
    #expect(try await input.rejection(Self.items("s", "a", "b", "c")) == "")
    #expect(await input.store.stateBytes == limits.maxStateBytes)
    let over = Self.bytes(items: 4)
    let message =
      "leaves the process with \(over) bytes of state, more than limits.maxStateBytes (\(limits.maxStateBytes)): "
      + "delete feeds or items, run more processes, or raise the limit"
    #expect(try await input.rejection(Self.upsert("d")) == "the record \(message)")
    #expect(try await input.rejection(Self.items("s", "a", "b", "c", "d")) == "the record \(message)")
    let listed = #"{"op":"feed.replace","sections":[{"id":"s","items":["a","b","d","e"]}]}"#
    #expect(
      try await input.rejection(#"[\#(listed),{"op":"item.delete","item":"a"}]"#) == "event 0 \(message)"
    )
    #expect(try await input.rejection(Self.upsert("i"), feed: "g").contains("limits.maxStateBytes"))
    #expect(await input.store.stateBytes == limits.maxStateBytes)
    // A change of the same size, or a smaller one.
    #expect(try await input.rejection(#"[\#(Self.upsert("d")),{"op":"item.delete","item":"a"}]"#) == "")
    #expect(try await input.rejection(#"{"op":"item.patch","item":"b","data":true}"#) == "")
    #expect(
      try await input.rejection(#"{"op":"item.patch","item":"b","data":false}"#).contains("maxStateBytes")
    )
    #expect(try await input.rejection(#"{"op":"item.delete","item":"b"}"#) == "")
    #expect(try await input.rejection(#"{"op":"feed.delete"}"#) == "")
    #expect(await input.store.stateBytes == 0)
  }

  @Test func `stores of one process share the limit, and a released store makes room`() async throws {
    let budget = StateBudget()
    var limits = Limits()
    limits.maxStateBytes = 2 * Self.bytes(items: 2)
    let one = Input(limits, budget)
    var two: Input? = Input(limits, budget)
    #expect(try await one.rejection(Self.items("s", "a", "b")) == "")
    #expect(try await two?.rejection(Self.items("s", "a", "b")) == "")
    #expect(try await one.rejection(Self.upsert("c")).contains("limits.maxStateBytes"))
    #expect(budget.bytes == limits.maxStateBytes)
    // A restored partition replaces the store's earlier content.
    try await two?.restore(from: one.log)
    #expect(budget.bytes == limits.maxStateBytes)
    two = nil
    #expect(budget.bytes == Self.bytes(items: 2))
    #expect(try await one.rejection(Self.upsert("c")) == "")
    // The additions are not counted after a rollback.
    try await one.apply(Self.upsert("d"))
    #expect(budget.bytes == Self.bytes(items: 4))
    await one.store.rollBack()
    #expect(budget.bytes == Self.bytes(items: 3))
    let other = try await one.restored(limits, budget)
    #expect(budget.bytes == 2 * Self.bytes(items: 3))
    #expect(try await other.rejection(Self.upsert("d")).contains("limits.maxStateBytes"))
  }
}
