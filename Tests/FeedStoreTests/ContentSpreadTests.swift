import ChangesetTestSupport
import FeedChecks
import Oracle
import Testing

@testable import Feed
@testable import FeedStore

/// Stores that show the contents of a table that others change, as the workers of a daemon do.
@Suite struct ContentSpreadTests {
  private let table = ContentTable()
  private let decoder = RecordDecoder(limits: Limits())

  private static func store(
    _ table: ContentTable,
    window: Int64 = 1_000,
    recordWindow: Int64 = 3_600_000
  ) -> FeedStore {
    var options = FeedStoreOptions()
    options.topics.contents = "feeds.contents"
    options.contentsWindowMilliseconds = window
    // Windows end when the test says so.
    options.coalescing.windowMilliseconds = recordWindow
    options.coalescing.idleWindowMilliseconds = recordWindow
    options.coalescing.maxRecords = 100_000
    return FeedStore(options: options, contents: table, followsContents: true)
  }

  private func set(_ id: String, _ value: String?, _ offset: Int) {
    let (key, text) = (Array(id.utf8), value.map { Array($0.utf8) })
    key.withUnsafeBytes { key in
      (text ?? []).withUnsafeBytes { bytes in
        let record = InputRecord(
          partition: 0,
          position: RecordPosition(topic: [], offset: Int64(offset), timestamp: Int64(offset)),
          key: ByteSpan(key),
          value: text == nil ? .null : .bytes(ByteSpan(bytes))
        )
        _ = table.apply(record, with: decoder)
      }
    }
  }

  private static func record(_ feed: String, _ event: String, _ offset: Int) -> OracleRecord {
    OracleRecord(
      topic: "feeds.items",
      offset: offset,
      timestamp: offset,
      key: Array(feed.utf8),
      value: Array(event.utf8)
    )
  }

  /// The data of each item by feed and id.
  private static func items(_ replicas: ReplicaPartition) -> [String: String] {
    var items: [String: String] = [:]
    for replica in replicas.replicas {
      for section in replica.oracleFeed.sections {
        for item in section.items {
          let id = String(decoding: item.id, as: UTF8.self)
          items["\(replica.feed)/\(id)"] = String(decoding: item.data, as: UTF8.self)
        }
      }
    }
    return items
  }

  @Test func `a changed content waits for its window, and is shown in slices`() async throws {
    let store = Self.store(table)
    let count = 12_000
    let list = (0..<count).map { #"{"id":"i\#($0)","data":{},"refs":{"a":"u"}}"# }.joined(separator: ",")
    let replace = Self.record("f", #"{"op":"section.replace","section":"s","items":[\#(list)]}"#, 0)
    _ = try await store.apply(RecordBatch([replace]), time: .clock(0))
    _ = await store.published()
    #expect(await store.nextContents(at: 5) == nil)
    set("u", #"{"v":1}"#, 1)
    #expect(await store.nextContents(at: 5) == 5)
    _ = try await store.apply(RecordBatch([]), time: .clock(5))
    #expect(await store.nextContents(at: 6) == 1_005)
    set("u", #"{"v":2}"#, 2)
    var slices = 0
    while let next = await store.nextContents(at: 1_005) {
      try #require(next == 1_005 && slices < 10)
      // A record is applied between two slices.
      let patch = Self.record("f", #"{"op":"item.patch","item":"i0","data":{"n":\#(slices)}}"#, 10 + slices)
      _ = try await store.apply(RecordBatch([patch]), time: .clock(1_005))
      slices += 1
    }
    #expect(slices == 3)
    let counters = await store.counters
    #expect(counters.contents == 1 && counters.shownItems == count - 1 && counters.shownFeeds == 1)
    await store.checkInvariants()
    let values = await store.published().values.compactMap { $0 }
    #expect(values.contains { $0.contains(#""data":{"n":2,"a":{"v":2}}"#) })
    #expect(values.allSatisfy { !$0.contains(#"{"v":1}"#) })
  }

  @Test func `an invalid content deletes the former one`() async throws {
    let store = Self.store(table, window: 0)
    set("u", "{}", 0)
    let item = #"{"op":"item.upsert","item":"i","section":"s","data":{},"refs":{"a":"u"}}"#
    _ = try await store.apply(RecordBatch([Self.record("f", item, 0)]), time: .clock(0))
    #expect(await store.published().values.first??.contains(#""data":{"a":{}}"#) == true)
    set("u", "[]", 1)
    _ = try await store.apply(RecordBatch([]), time: .clock(1))
    #expect(await store.published().values.first??.contains(#""data":{"a":null}"#) == true)
  }

  @Test func `a content with much white space is read`() async throws {
    set("u", #"{"v":"# + String(repeating: " ", count: 2 << 20) + #"[1, 2]}"#, 0)
    let value = ByteWriter()
    table.appendValue(ByteSpan("\"u\""), to: value)
    #expect(value.written.text == #"{"v":[1,2]}"#)
  }

  @Test func `records are applied although each slice of contents is published at once`() async throws {
    let store = Self.store(table, window: 0, recordWindow: 0)
    let list = (0..<12_000).map { #"{"id":"i\#($0)","data":{},"refs":{"a":"u"}}"# }.joined(separator: ",")
    let replace = Self.record("f", #"{"op":"section.replace","section":"s","items":[\#(list)]}"#, 0)
    _ = try await store.apply(RecordBatch([replace]), time: .clock(0))
    _ = await store.published()
    set("u", #"{"v":1}"#, 1)
    let patches = (0..<4).map {
      Self.record("f", #"{"op":"item.patch","item":"i0","data":{"n":\#($0)}}"#, 10 + $0)
    }
    let batch = RecordBatch(patches)
    var turns: [Bool] = []
    while try await store.apply(batch, time: .clock(Int64(turns.count))) == .flushDue {
      turns.append(await store.published().values.contains { $0?.contains(#""n":"#) == true })
      try #require(turns.count < 20)
    }
    #expect(turns.prefix(2).contains(true), "no record comes between slices: \(turns)")
  }

  @Test func `a restored partition shows no contents before it is served`() async throws {
    let item = #"{"op":"item.upsert","item":"i","section":"s","data":{},"refs":{"a":"u"}}"#
    let former = Self.store(table, window: 0)
    set("u", #"{"v":2}"#, 1)
    _ = try await former.apply(RecordBatch([Self.record("f", item, 0)]), time: .clock(0))
    let replicas = ReplicaPartition(describesChanges: false)
    for record in await former.published().records { _ = try replicas.apply(record) }
    // Another process is behind.
    let behind = ContentSpreadTests()
    let store = Self.store(behind.table, window: 0)
    await store.beginRestoring(partition: 0, from: replicas)
    while try await store.restoreNext() {}
    behind.set("u", #"{"v":1}"#, 0)
    _ = try await store.apply(RecordBatch([]), time: .clock(1))
    #expect(await !store.isPublicationDue)
    behind.set("u", #"{"v":2}"#, 1)
    await store.serve(partition: 0)
    _ = try await store.apply(RecordBatch([]), time: .clock(2))
    #expect(await !store.isPublicationDue)
  }

  @Test(arguments: 0..<40) func `every item shows its contents in the end, whatever came between`(
    _ seed: UInt64
  )
    async throws
  {
    var random = SplitMix64(seed: seed)
    var store = Self.store(table, window: Int64(random.pick([0, 50, 1_000])))
    let replicas = ReplicaPartition(describesChanges: false)
    var (contents, refs, time): ([String: Int], [String: String], Int) = ([:], [:], 0)
    var (pending, log): ([OracleRecord], [JudgedRecord]) = ([], [])
    var shown: [String: Int] = [:]

    func follow(_ flush: PublishedFlush) throws {
      for record in flush.records { _ = try replicas.apply(record) }
      log += flush.records
      // No content goes back.
      for (item, data) in Self.items(replicas) {
        guard let number = data.split(separator: #""v":"#).dropFirst().first.flatMap({ Int($0.dropLast(2)) })
        else { continue }
        let place = "\(item) \(refs[item] ?? "")"
        #expect(number >= shown[place] ?? 0, "seed \(seed): \(place) at \(time)")
        shown[place] = number
      }
      pending = []
    }

    for step in 1...300 {
      time += random.below(200)
      switch random.below(10) {
      case 0...2:
        let id = "u\(random.below(4))"
        let value: String? = random.pick([nil, #"{"v":\#(step)}"#, #"{"v":\#(step)}"#, "[]"])
        contents[id] = value?.first == "{" ? step : nil
        set(id, value, step)
      case 3...6:
        let (feed, item, id) = ("f\(random.below(3))", "i\(random.below(6))", "u\(random.below(4))")
        refs["\(feed)/\(item)"] = id
        let record = Self.record(
          feed,
          #"{"op":"item.upsert","item":"\#(item)","section":"s","data":{},"refs":{"a":"\#(id)"}}"#,
          step
        )
        pending.append(record)
        _ = try await store.apply(RecordBatch([record]), time: .clock(Int64(time)))
      case 7:
        await store.rollBack()
        _ = try await store.apply(RecordBatch(pending), time: .clock(Int64(time)))
      case 8 where random.chance(30):
        // Another store goes on, as after a rebalance.
        await store.rollBack()
        store = Self.store(table, window: 50)
        let copy = ReplicaPartition(describesChanges: false)
        for record in log { _ = try copy.apply(record) }
        try await store.restore(partition: 0, from: copy)
        _ = try await store.apply(RecordBatch(pending), time: .clock(Int64(time)))
      default: try follow(await store.published())
      }
    }
    for _ in 0..<3 {
      time += 2_000
      _ = try await store.apply(RecordBatch([]), time: .clock(Int64(time)))
      try follow(await store.published())
    }
    await store.checkInvariants()
    let expected = refs.mapValues { id in contents[id].map { #"{"a":{"v":\#($0)}}"# } ?? #"{"a":null}"# }
    #expect(Self.items(replicas) == expected, "seed \(seed)")
  }
}
