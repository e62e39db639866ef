import ChangesetTestSupport
import Feed
import FeedChecks
import Oracle
import Testing

@testable import FeedStore

@Suite struct ContentsTests {
  private let contents = ContentTable()
  private let store: FeedStore

  init() { store = FeedStore(options: Self.options, contents: contents) }

  private static var options: FeedStoreOptions {
    var options = FeedStoreOptions()
    options.topics.contents = "feeds.contents"
    options.coalescing.windowMilliseconds = 3_600_000
    options.coalescing.idleWindowMilliseconds = 3_600_000
    return options
  }

  private static func content(_ id: String, _ value: String?, at time: Int = 0) -> OracleRecord {
    record(id, value, topic: "feeds.contents", at: time)
  }

  private static func record(
    _ key: String,
    _ value: String?,
    topic: String = "feeds.items",
    at time: Int
  ) -> OracleRecord {
    OracleRecord(
      topic: topic,
      offset: time,
      timestamp: time,
      key: Array(key.utf8),
      value: value.map { Array($0.utf8) }
    )
  }

  private static func item(_ feed: String, _ id: String, _ refs: String, at time: Int) -> OracleRecord {
    record(
      feed,
      #"{"op":"item.upsert","item":"\#(id)","section":"s","data":{"n":1},"refs":\#(refs)}"#,
      at: time
    )
  }

  private func flush(_ records: OracleRecord...) async throws -> PublishedFlush {
    _ = try await store.apply(RecordBatch(records), time: .records)
    await store.checkInvariants()
    let flush = await store.published()
    await store.checkInvariants()
    return flush
  }

  @Test func `one record changes the items of many feeds`() async throws {
    for feed in 0..<50 {
      _ = try await flush(Self.item("f\(feed)", "i", #"{"author":"u","post":"p"}"#, at: feed))
    }
    let flush = try await flush(Self.content("u", #"{"name":"Ada"}"#, at: 100))
    #expect(flush.records.count == 50)
    let value = try #require(flush.values.first ?? nil)
    #expect(
      value.hasSuffix(
        #"""
        "reconfigure":[{"id":"i","section":"s","index":0,"data":{"n":1,"author":{"name":"Ada"},"post":null},"refs":{"author":"u","post":"p"}}]}}
        """#
      ),
      "\(value)"
    )
    #expect(value.contains(#""time":"1970-01-01T00:00:00.100Z","through":{"feeds.items":0}"#), "\(value)")
    let header = flush.records[0].headers.last
    #expect(header?.name == "feedstore.contents" && header?.value == Array(#"{"0":100}"#.utf8))
    #expect(try await self.flush(Self.content("u", #"{"name":"Ada"}"#, at: 101)).records.isEmpty)
  }

  @Test func `a content that nothing has or shows is forgotten`() async throws {
    _ = try await flush(Self.item("f", "i", #"{"a":"u","b":"u"}"#, at: 0), Self.content("u", "{}", at: 1))
    #expect(contents.count == 1 && contents.bytes == 5)
    _ = try await flush(Self.content("u", nil, at: 2), Self.content("other", "{}", at: 3))
    #expect(contents.count == 2)
    _ = try await flush(Self.record("f", nil, at: 4), Self.content("other", nil, at: 5))
    #expect(contents.count == 0 && contents.bytes == 0)
  }

  @Test func `a content that changes while its item is deleted is shown when the item comes again`()
    async throws
  {
    _ = try await flush(Self.item("f", "i", #"{"a":"u"}"#, at: 0))
    let delete = Self.record("f", #"{"op":"item.delete","item":"i"}"#, at: 1)
    let flush = try await flush(
      delete,
      Self.content("u", #"{"x":1}"#, at: 2),
      Self.item("f", "i", #"{"a":"u"}"#, at: 3)
    )
    #expect(flush.values.first??.contains(#""data":{"n":1,"a":{"x":1}},"refs":{"a":"u"}"#) == true)
  }

  @Test func `a rollback takes contents back`() async throws {
    _ = try await flush(Self.item("f", "i", #"{"a":"u"}"#, at: 0))
    let change = Self.content("u", #"{"x":1}"#, at: 1)
    _ = try await store.apply(RecordBatch([change]), time: .records)
    await store.rollBack()
    await store.checkInvariants()
    #expect(contents.seenText.isEmpty)
    #expect(
      try await flush(Self.record("f", #"{"op":"item.patch","item":"i","data":{}}"#, at: 2)).records.isEmpty
    )
    #expect(try await flush(change).records.count == 1)
  }

  @Test func `a store that is restored publishes what contents have changed since, and nothing else`()
    async throws
  {
    var records: [JudgedRecord] = []
    records += try await flush(
      Self.item("f", "i", #"{"a":"u","b":"é\""}"#, at: 0),
      Self.item("g", "i", #"{"a":"v"}"#, at: 1),
      Self.record("h", #"{"op":"item.upsert","item":"i","section":"s","data":{"a":null}}"#, at: 2)
    ).records
    let table = ContentTable()
    let restored = FeedStore(options: Self.options, contents: table)
    _ = try await restored.apply(
      RecordBatch([Self.content("é\"", #"{"new":[1,{"}":2}]}"#, at: 7)]),
      time: .records
    )
    _ = await restored.published()
    let replicas = ReplicaPartition(describesChanges: false)
    for record in records { _ = try replicas.apply(record) }
    try await restored.restore(partition: 0, from: replicas)
    #expect(await restored.isPublicationDue)
    let values = await restored.published().values
    await restored.checkInvariants()
    #expect(values.count == 1)
    let value = try #require(values.first ?? nil)
    #expect(
      value.contains(#""data":{"n":1,"a":null,"b":{"new":[1,{"}":2}]}},"refs":{"a":"u","b":"é\""}"#),
      "\(value)"
    )
    #expect(value.contains(#""time":"1970-01-01T00:00:00.007Z""#), "\(value)")
    #expect(await !restored.isPublicationDue)
    // The own data was found in the published data.
    let patch = Self.record("f", #"{"op":"item.patch","item":"i","data":{"n":2},"refs":{"b":null}}"#, at: 9)
    _ = try await restored.apply(RecordBatch([patch]), time: .records)
    let patched = await restored.published().values
    #expect(patched.first??.contains(#""data":{"n":2,"a":null},"refs":{"a":"u"}"#) == true)
    // All uses end when the partition is given up.
    _ = await restored.takeOut(partition: 0)
    _ = try await restored.apply(RecordBatch([Self.content("é\"", nil, at: 10)]), time: .records)
    #expect(table.count == 0)
  }

  @Test func `a rollback after a restoration does not forget what contents changed`() async throws {
    let records = try await flush(Self.item("f", "i", #"{"a":"u"}"#, at: 0)).records
    _ = try await flush(Self.content("u", #"{"x":1}"#, at: 1))
    let restored = FeedStore(options: Self.options, contents: contents)
    let replicas = ReplicaPartition(describesChanges: false)
    for record in records { _ = try replicas.apply(record) }
    try await restored.restore(partition: 0, from: replicas)
    let withdrawn = await restored.withdrawn()
    #expect(withdrawn.records.count == 1)
    #expect(await restored.isPublicationDue)
    #expect(await restored.published() == withdrawn)
  }

  @Test func `without a topic of contents, refs is a field that is ignored`() async throws {
    let plain = FeedStore(options: FeedStoreOptions())
    let records = [
      Self.item("f", "i", "7", at: 0), Self.record("f", #"{"op":"item.patch","item":"i","refs":{}}"#, at: 1),
    ]
    _ = try await plain.apply(RecordBatch(records), time: .records)
    let flush = await plain.published()
    #expect(flush.values.first??.contains("refs") == false)
    #expect(flush.rejected.map(\.rejection.code) == [.missingField])
    #expect(await plain.ignoredFields.counts.values.reduce(0, +) == 1)
  }

  @Test(arguments: [
    (
      #""data":7,"refs":{"a":"u"}"#,
      "field 'refs' needs data that is an object, to which the contents are added, found the number 7"
    ),
    (
      #""data":{"a":1},"refs":{"a":"u"}"#,
      #"field 'refs' has the name of a member of the item's own data, found "a""#
    ),
    (
      #""data":{},"refs":{"a":5}"#,
      #"field 'refs' must have names and ids of 1 to 255 bytes, found the object {"a":5}"#
    ),
    (
      #""data":{},"refs":[]"#,
      "field 'refs' must be an object with ids of contents by name, found the array []"
    ),
    (
      #""data":{},"refs":{"a":"u","b":"u","c":"u","d":"u","e":"u"}"#,
      "field 'refs' has 5 references of 41 bytes in all, more than 4 or 2048 bytes"
    ),
  ]) func `the message names the fault`(fields: String, message: String) async throws {
    let event = #"{"op":"item.upsert","item":"i","section":"s",\#(fields)}"#
    let flush = try await flush(Self.record("f", event, at: 0))
    #expect(flush.rejected.map(\.rejection.message) == [message])
    #expect(flush.records.isEmpty)
  }

  @Test func `a content is an object of limited size`() async throws {
    let long = #"{"x":"\#(String(repeating: "x", count: 65_536))"}"#
    let flush = try await flush(
      Self.content("u", "[]", at: 0),
      Self.content("u", long, at: 1),
      Self.content("", "{}", at: 2),
      Self.content("u", "{", at: 3)
    )
    #expect(
      flush.rejected.map(\.rejection.code) == [.invalidField, .limitExceeded, .missingKey, .invalidJSON]
    )
    #expect(
      flush.rejected[0].rejection.message
        == "a content must be an object, or a null record to delete it, found the array []"
    )
    #expect(contents.count == 0)
  }

  @Test func `items move in ordered sections when contents change`() async throws {
    let order = #"{"op":"section.upsert","section":"s","order":[{"by":"/u/score"}]}"#
    _ = try await flush(
      Self.record("f", order, at: 0),
      Self.item("f", "a", #"{"u":"1"}"#, at: 1),
      Self.item("f", "b", #"{"u":"2"}"#, at: 2),
      Self.item("f", "c", #"{"u":"1"}"#, at: 3),
      Self.content("1", #"{"score":1}"#, at: 4),
      Self.content("2", #"{"score":2}"#, at: 5)
    )
    let flush = try await flush(Self.content("2", #"{"score":0}"#, at: 6))
    let value = try #require(flush.values.first ?? nil)
    #expect(
      value.contains(#""move":[{"id":"b","from":{"section":"s","index":2},"to":{"section":"s","index":0}}]"#),
      "\(value)"
    )
  }
}
