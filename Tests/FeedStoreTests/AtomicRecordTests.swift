import Feed
import FeedStore
import FeedTestSupport
import Testing

@Suite struct AtomicRecordTests {
  /// Events that change a feed of two sections, s with a b c and t with d e, in every way.
  private static let events = [
    #"{"op":"feed.replace","sections":[{"id":"t","items":["e","a"]},{"id":"u","items":["b"]}]}"#,
    #"{"op":"feed.clear"}"#,
    #"{"op":"feed.delete"}"#,
    #"{"op":"section.upsert","section":"t","at":"first","data":1}"#,
    #"{"op":"section.replace","section":"s","items":["c","b","a"]}"#,
    #"{"op":"section.replace","section":"s","items":["d","c","x"]}"#,
    #"{"op":"section.replace","section":"u","items":["b","e"],"at":"first"}"#,
    #"{"op":"section.move","section":"s","at":"last"}"#,
    #"{"op":"section.delete","section":"s"}"#,
    #"{"op":"section.delete","section":"t"}"#,
    #"{"op":"section.reload","section":"s"}"#,
    #"{"op":"item.upsert","item":"x","section":"s","at":{"after":"a"}}"#,
    #"{"op":"item.upsert","item":"a","section":"t","kind":"k","data":{"n":1}}"#,
    #"{"op":"item.upsert","item":"b","section":"s","at":"first","data":{"n":2}}"#,
    #"{"op":"item.patch","item":"a","data":{"n":3}}"#,
    #"{"op":"item.move","item":"a","at":{"index":1}}"#,
    #"{"op":"item.move","item":"c","section":"v"}"#,
    #"{"op":"item.delete","item":"a"}"#,
    #"{"op":"item.delete","item":"b"}"#,
    #"{"op":"item.reconfigure","item":"a"}"#,
    #"{"op":"item.reload","item":"d"}"#,
  ]
  /// Fails whatever was before: a new item without a section.
  private static let failure = #"{"op":"item.upsert","item":"nowhere"}"#
  private static let feed =
    #"{"op":"feed.replace","sections":[{"id":"s","items":["a","b","c"]},{"id":"t","items":["d","e"]}]}"#

  @Test func `a record that fails at its last event leaves no trace, whatever came before`() async throws {
    let store = FeedStore(options: FeedStoreOptions())
    var offset = 0
    func apply(_ value: String) async throws {
      let batch = RecordListBatch([
        OracleRecord(
          topic: "feeds.items", partition: 0, offset: offset, timestamp: 0, key: Array("f".utf8),
          value: Array(value.utf8))
      ])
      offset += 1
      _ = try await store.apply(batch, time: .records)
    }
    try await apply(Self.feed)
    _ = await store.beginFlush()
    await store.confirm()

    for first in Self.events {
      for second in Self.events {
        for third in Self.events {
          try await apply("[\(first),\(second),\(third),\(Self.failure)]")
          await store.checkInvariants()
          let publication = await store.beginFlush()
          try #require(
            publication.records.isEmpty && publication.rejected.count == 1,
            "\(first), \(second), \(third)")
          await store.confirm()
        }
      }
    }
  }
}
