import Oracle
import Testing

@testable import Feed

@Suite struct IgnoredFieldsTests {
  private let decoder = RecordDecoder(limits: Limits())

  private func decode(_ value: String, offset: Int64 = 0) {
    withSpan(Array(value.utf8)) { span in
      let record = InputRecord(
        partition: 3,
        position: RecordPosition(topic: Array("in".utf8), offset: offset, timestamp: 0),
        key: ByteSpan("feed" as StaticString),
        value: .bytes(span)
      )
      try? decoder.decode(record, itemCount: 0, sectionCount: 0)
    }
  }

  /// `operation field`, and the number of occurrences.
  private var counts: [String: Int] {
    Dictionary(
      uniqueKeysWithValues: decoder.ignored.counts.map { ("\($0.key.operation) \($0.key.field)", $0.value) }
    )
  }

  @Test(arguments: [
    (#"{"op":"section.upsert","section":"s","items":["a"]}"#, ["section.upsert items": 1]),
    (
      #"{"op":"item.patch","item":"a","data":1,"section":"s","kind":"k"}"#,
      ["item.patch section": 1, "item.patch kind": 1]
    ),
    (#"{"op":"feed.clear","sections":[]}"#, ["feed.clear sections": 1]),
    (
      #"{"op":"item.upsert","item":"a","section":"s","colour":{"a":[1]},"at":"last"}"#,
      ["item.upsert colour": 1]
    ),
    (#" {"op":"item.upsert","item":"a","section":"s", "col\u006fur":1}"#, ["item.upsert colour": 1]),
    (#"{"op":"item.move","item":"a","at":{"first":true,"index":1}}"#, ["item.move at.first": 1]),
    (
      #"{"op":"section.move","section":"a","at":{"index":1,"of":"b"},"by":1}"#,
      ["section.move at.of": 1, "section.move by": 1]
    ),
    (
      #"[{"op":"section.replace","section":"s","items":[{"id":"a","title":1},"b",{"id":"c","title":2,"data":3}]}]"#,
      ["section.replace items.title": 2]
    ),
    (
      #"{"op":"feed.replace","sections":[{"id":"s","kind":"k","items":[{"id":"a","at":1}]}],"items":[]}"#,
      ["feed.replace sections.kind": 1, "feed.replace sections.items.at": 1, "feed.replace items": 1]
    ),
    (#"{"op":"item.upsert","item":"a","section":"s","kind":"k","data":{"x":1},"at":{"index":0}}"#, [:]),
    (
      #"{"op":"section.replace","section":"s","items":[{"id":"a","kind":"k","data":1}],"data":1,"at":"first"}"#,
      [:]
    ),
    (#"{"op":"item.delete","item":"a","item":"b"}"#, [:]),
  ])
  func `a field without effect is counted by operation and name`(value: String, expected: [String: Int]) {
    decode(value)
    #expect(counts == expected)
    guard !value.hasPrefix("[") else { return }
    decode("[\(value),\(value)]")
    #expect(counts == expected.mapValues { $0 * 3 })
  }

  @Test func `whatever the names are, a hundred are told apart, and long ones are cut`() {
    let long = String(repeating: "é", count: 100)
    for number in 0..<300 {
      decode(#"{"op":"item.delete","item":"a","\#(long)\#(number)":1,"field\#(number)":1}"#)
    }
    #expect(decoder.ignored.fields.count == 100)
    #expect(counts["item.delete \(long.prefix(32))"] == 300)
    #expect(counts["item.delete field98"] == 1)
    #expect(counts["other other"] == 201)
    #expect(counts.values.reduce(0, +) == 600)
  }

  @Test func `the first record with a field is known`() throws {
    decode(#"{"op":"item.delete","item":"a"}"#, offset: 6)
    decode(#"{"op":"item.delete","item":"a","x":1}"#, offset: 7)
    decode(#"{"op":"item.delete","item":"a","x":1}"#, offset: 8)
    let field = try #require(decoder.ignored.fields.first)
    #expect(field.count == 2)
    #expect(field.first?.partition == 3)
    #expect(field.first?.position.offset == 7)
  }
}
