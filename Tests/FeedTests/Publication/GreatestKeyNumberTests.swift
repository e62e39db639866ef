import Testing

@testable import Feed

/// Publications of a feed with nearly as many delta records as numbers for keys.
struct GreatestKeyNumberTests {
  private let publisher: ChangesetPublisher
  private let decoder = RecordDecoder(limits: Limits())
  private let feed: PublishedFeed

  init() throws {
    var keyframes = KeyframePolicy()
    keyframes.maxDeltas = .max
    keyframes.maxBytesRatio = .infinity
    publisher = ChangesetPublisher(
      planner: PlannerThresholds(),
      keyframes: keyframes,
      output: OutputOptions()
    )
    feed = withSpan("f") { PublishedFeed(id: $0) }
    _ = try keys(
      publishing: #"{"op":"feed.replace","sections":[{"id":"s","items":[{"id":"a"},{"id":"b"}]}]}"#,
      at: 0
    )
  }

  private func apply(_ value: String?, at offset: Int64) throws {
    let position = RecordPosition(topic: Array("t".utf8), offset: offset, timestamp: offset)
    try withSpan("f") { key in
      try withSpan(value ?? "") { text in
        try decoder.decode(
          InputRecord(
            partition: 0,
            position: position,
            key: key,
            value: value == nil ? .null : .bytes(text)
          )
        )
        try feed.apply(decoder, at: position) { _ in }
      }
    }
  }

  /// Applies a record and publishes the change.
  ///
  /// - Returns: the records' keys.
  private func keys(publishing value: String, at offset: Int64) throws -> [String] {
    try apply(value, at: offset)
    let buffer = RecordBuffer()
    _ = publisher.begin(feed)
    while publisher.writeNext(to: buffer) {}
    feed.confirm()
    return buffer.records.map { buffer.bytes.span($0.key).text }
  }

  private func rename(_ number: Int64) -> String {
    #"{"op":"item.upsert","item":"a","data":\#(number)}"#
  }

  @Test func `a reload comes before a number that restoring would refuse`() throws {
    feed.version?.deltaCount = RecordKey.greatestNumber - 3
    feed.version?.highestDelta = RecordKey.greatestNumber - 3
    #expect(try keys(publishing: rename(1), at: 1) == ["d999998/f"])
    #expect(try keys(publishing: rename(2), at: 2) == ["d999999/f"])
    #expect(try keys(publishing: rename(3), at: 3) == ["k0/f"])
    #expect(try keys(publishing: rename(4), at: 4) == ["d1/f"])
    for key in ["d999999/f", "k0/f", "d1/f"] { #expect(withSpan(key) { RecordKey($0) } != nil) }
  }

  @Test func `a deletion has the last number`() throws {
    feed.version?.deltaCount = RecordKey.greatestNumber - 1
    try apply(nil, at: 1)
    let buffer = RecordBuffer()
    _ = publisher.begin(feed)
    #expect(publisher.writeNext(to: buffer))
    #expect(buffer.records.map { buffer.bytes.span($0.key).text } == ["d1000000/f"])
  }

  @Test func `the nulls of a deletion come a few at a time`() throws {
    feed.version?.highestDelta = 25_000
    try apply(nil, at: 1)
    let buffer = RecordBuffer()
    var counts: [Int] = []
    var keys: [String] = []
    _ = publisher.begin(feed)
    while publisher.writeNext(to: buffer) {
      counts.append(buffer.records.count)
      keys += buffer.records.map { buffer.bytes.span($0.key).text }
      buffer.removeAll()
    }
    feed.confirm()
    #expect(counts == [1, 1, 10_000, 10_000, 5_000])
    #expect(keys == ["d1/f", "k0/f"] + (1...25_000).map { "d\($0)/f" })
    #expect(feed.isForgettable)
  }
}
