import ChangesetTestSupport
import Feed
import FeedChecks
import FeedStore
import Foundation
import Oracle
import Testing

@Suite struct AtomicRecordTests {
  /// Events that change a feed with the sections s (a b c) and t (d e) in every way.
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
  /// Always fails: a new item without a section.
  private static let failure = #"{"op":"item.upsert","item":"nowhere"}"#
  private static let feed =
    #"{"op":"feed.replace","sections":[{"id":"s","items":["a","b","c"]},{"id":"t","items":["d","e"]}]}"#

  /// A store, and the offset of the next record.
  private final class Input {
    let store: FeedStore
    private var offset = 0

    init() {
      var options = FeedStoreOptions()
      // Without keyframes, and without reloads because of size.
      options.keyframe.maxDeltas = Int.max
      options.keyframe.maxBytesRatio = 1e9
      options.planner.maxBytesRatio = 1e9
      store = FeedStore(options: options)
    }

    func apply(_ value: String) async throws {
      let batch = RecordBatch([
        OracleRecord(offset: offset, key: Array("f".utf8), value: Array(value.utf8))
      ])
      offset += 1
      _ = try await store.apply(batch, time: .records)
    }

    /// Publishes. Returns the rest of each changeset after the revisions and offsets in its head.
    func flush() async -> [Substring] {
      await store.checkInvariants()
      let values = await store.published().values.compactMap { $0 }
      await store.checkInvariants()
      return values.map { value in
        value.range(of: "\"checksum\"").map { value[$0.lowerBound...] } ?? Substring(value)
      }
    }
  }

  @Test func `a rejected record that had removed many elements fills the window sooner`() async throws {
    let limits = Limits()
    var options = FeedStoreOptions()
    options.coalescing.maxRecords = 5
    let items = (0..<150).map { "\"i\($0)\"" }.joined(separator: ",")
    let filled = #"{"op":"section.replace","section":"s","items":[\#(items)]}"#
    let clear = #"{"op":"feed.clear"}"#
    let sections = (0..<50).map { #"{"op":"section.upsert","section":"t\#($0)"}"# }
    let emptied = #"{"op":"section.delete","section":"s"}"#
    // Each with the number of records that it counts as.
    let cases = [
      ("[\(clear),\(Self.failure)]", 2), ("[\(Self.failure),\(clear)]", 1),
      ("[\(emptied),\(Self.failure)]", 2),
      ("[\(emptied),\(clear),\(Self.failure)]", 2), ("[\(filled),\(clear),\(Self.failure)]", 4),
      ("[\((sections + [clear, Self.failure]).joined(separator: ","))]", 3), ("[\(clear)]", 1),
      (#"{"op":"item.upsert","item":"x"}"#, 1),
    ]
    for (value, count) in cases {
      let store = FeedStore(options: options)
      var oracle = Oracle(limits: limits, coalescing: options.coalescing)
      let ordinary = Array(repeating: #"{"op":"feed.reload"}"#, count: 5 - 1 - count)
      for (number, value) in ([filled, value] + ordinary).enumerated() {
        let record = OracleRecord(offset: number, key: Array("f".utf8), value: Array(value.utf8))
        let isFull = number == 1 + ordinary.count
        #expect(
          (try await store.apply(RecordBatch([record]), time: .records) == .flushDue) == isFull,
          "\(value)"
        )
        #expect((oracle.take(record).flushAfter != nil) == isFull, "\(value)")
      }
    }
  }

  @Test func `a record that fails at its last event has no effect, whatever its other events did`()
    async throws
  {
    let input = Input()
    try await input.apply(Self.feed)
    _ = await input.flush()
    for first in Self.events {
      for second in Self.events {
        for third in Self.events {
          try await input.apply("[\(first),\(second),\(third),\(Self.failure)]")
          let published = await input.flush()
          try #require(published.isEmpty, "\(first), \(second), \(third)")
        }
      }
    }
    #expect(
      await input.store.counters.rejectedRecords == Self.events.count * Self.events.count * Self.events.count
    )
  }

  @Test func `a record that fails leaves earlier changes of the same window unchanged`() async throws {
    let input = Input()
    func published(_ before: String, _ failing: String?) async throws -> [Substring] {
      // Nothing of the previous run is kept.
      try await input.apply("[{\"op\":\"feed.delete\"},\(Self.feed)]")
      _ = await input.flush()
      try await input.apply(before)
      if let failing { try await input.apply(failing) }
      return await input.flush()
    }
    for before in Self.events {
      let expected = try await published(before, nil)
      for first in Self.events {
        for second in Self.events {
          let actual = try await published(before, "[\(first),\(second),\(Self.failure)]")
          try #require(actual == expected, "\(before), then \(first), \(second)")
        }
      }
    }
  }

  @Test(arguments: events)
  func `after a restoration and a rejected record, ordered sections are in their order`(
    _ event: String
  )
    async throws
  {
    var driver = StoreDriver()
    var log: [JudgedRecord] = []
    driver.onFlush = { log += $0 }
    var offset = 0
    func record(_ value: String) -> OracleRecord {
      offset += 1
      return OracleRecord(offset: offset, key: Array("f".utf8), value: Array(value.utf8))
    }
    let sections = ["s", "t"].map { section in
      let items = (0..<4).map { #"{"id":"\#(section)\#($0)","data":{"n":\#($0)}}"# }.joined(separator: ",")
      return #"{"id":"\#(section)","order":[{"by":"/n"}],"items":[\#(items)]}"#
    }
    try await driver.run([record(#"{"op":"feed.replace","sections":[\#(sections.joined(separator: ","))]}"#)])
    try await driver.restart(from: [0: log])
    let rejected = ["a": "s1", "b": "s2", "c": "s3", "d": "t1", "e": "t2"].reduce(event) { text, name in
      text.replacing("\"\(name.key)\"", with: "\"\(name.value)\"")
    }
    try await driver.run([record("[\(rejected),\(Self.failure)]")])
    // Before all others, between others, and after all others.
    for (item, number) in [("s3", -1.0), ("s1", 1.5), ("s0", 9.0), ("t2", -1.0), ("t0", 1.5)] {
      try await driver.run([record(#"{"op":"item.patch","item":"\#(item)","data":{"n":\#(number)}}"#)])
    }
  }
}
